// A plugin author imports ActionKit alone: values, types, places and time come with it.
@_exported public import Basics
