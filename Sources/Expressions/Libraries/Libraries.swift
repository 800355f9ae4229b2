/// The libraries beyond the standard functions, in the order of the reference page.
let libraryFunctions: [[FunctionDeclaration]] = []
