public import Foundation

/// The folder of the package, for tests that read its recipes, pages and sources.
public let packageFolder: URL = {
  var folder = URL(filePath: #filePath).deletingLastPathComponent()
  while folder.path != "/", !FileManager.default.fileExists(atPath: folder.appending(path: "Package.swift").path) {
    folder.deleteLastPathComponent()
  }
  return folder
}()
