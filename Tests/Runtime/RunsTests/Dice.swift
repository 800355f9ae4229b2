/// Numbers that a seed decides, for recipes that are made up: the same seed makes the same recipe on every machine.
struct Dice {
  private var state: UInt64

  init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

  /// A number from 0 to one less than the bound, which is positive.
  mutating func below(_ bound: Int) -> Int {
    state ^= state << 13
    state ^= state >> 7
    state ^= state << 17
    return Int(state >> 33) % bound
  }
}
