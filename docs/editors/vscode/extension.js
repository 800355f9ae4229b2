// Starts `errand lsp` for YAML files. The server tells by a file's name, folder and keys whether it is one of Errand's.
const { commands, workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = async (context) => {
  client = new LanguageClient(
    "errand",
    "Errand",
    { command: workspace.getConfiguration("errand").get("path"), args: ["lsp"] },
    { documentSelector: [{ scheme: "file", language: "yaml" }] }
  );
  context.subscriptions.push(commands.registerCommand("errand.restart", () => client.restart()));
  await client.start();
};

exports.deactivate = () => client?.stop();
