/// The version of the program, which runs keep with their records.
let version = "0.2.0"
