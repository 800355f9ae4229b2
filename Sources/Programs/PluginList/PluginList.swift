package import ActionKit
import CSVPlugin
import FilesPlugin
import HTTPPlugin
import InterviewPrepPlugin
import JSONTextPlugin
import MCPPlugins
import MailPlugin
import MarkbookPlugin
import NotifyPlugin
import OpenAPIPlugins
package import PluginLocks
import ReportPlugin
import ShellPlugin
import StationboardPlugin
import StorePlugin
import TimetablePlugin
import TransitDataPlugin

/// The plugins of the program, in the order of its pages, services first: the only list.
package let everyPlugin: [any Plugin.Type] = [
  InterviewPrepPlugin.self,
  MarkbookPlugin.self,
  StationboardPlugin.self,
  TimetablePlugin.self,
  TransitDataPlugin.self,
  HTTPPlugin.self,
  FilesPlugin.self,
  CSVPlugin.self,
  JSONTextPlugin.self,
  ReportPlugin.self,
  StorePlugin.self,
  ShellPlugin.self,
  NotifyPlugin.self,
  MailPlugin.self,
]

/// The kinds of locks, which perform the actions of plugins that aren't part of the program.
package let everyLockKind: [any LockKind.Type] = [MCPKind.self, OpenAPIKind.self]
