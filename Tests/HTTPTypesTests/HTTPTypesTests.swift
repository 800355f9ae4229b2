import Basics
import HTTPTypes
import Testing
