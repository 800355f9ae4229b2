/// CEL's standard functions, operators apart.
let standardFunctions: [FunctionDeclaration] = []
