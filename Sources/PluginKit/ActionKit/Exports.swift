// A plugin author imports only ActionKit, which re-exports values, types, places and time.
@_exported public import Basics
