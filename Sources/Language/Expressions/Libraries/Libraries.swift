/// The libraries beyond the standard functions, in the order of the reference page.
let libraryFunctions: [[FunctionDeclaration]] = [
  stringFunctions, formatFunctions, mathFunctions, listFunctions, setFunctions, encoderFunctions, regexFunctions,
  zonedGetters, timeFunctions, statisticsFunctions, jsonFunctions, csvFunctions, textFunctions,
]
