import Basics

/// CEL's library `encoders`, as cel-go documents it.
let encoderFunctions: [FunctionDeclaration] = [
  FunctionDeclaration(
    "base64.encode", parameters: [.bytes], result: .string, summary: "Bytes as text in base64.",
    example: "base64.encode(b'hello') == 'aGVsbG8='"
  ) { arguments, context throws(EvaluationError) in
    let bytes = try arguments.bytes(0)
    try context.charge(steps: bytes.count >> 4)
    return try context.made(bytes.base64)
  },
  FunctionDeclaration(
    "base64.decode", parameters: [.string], result: .bytes,
    summary: "The bytes of a text in base64; the padding may be left out.",
    example: "base64.decode('aGVsbG8=') == b'hello'",
    literalCheck: { constants in
      guard let text = constants[0]?.string, [UInt8](base64: text, requiresPadding: false) == nil else { return nil }
      return LiteralFault(argument: 0, "\(written(.string(text))) isn't base64")
    }
  ) { arguments, context throws(EvaluationError) in
    let text = try arguments.string(0)
    try context.charge(steps: text.utf8.count >> 4)
    try context.charge(bytes: text.utf8.count)
    guard let bytes = [UInt8](base64: text, requiresPadding: false) else {
      throw EvaluationError("\(written(.string(text))) isn't base64")
    }
    return .bytes(bytes)
  },
]
