import Glibc

/// A point on the earth, in degrees (WGS 84).
public struct Position: Hashable, Sendable {
  /// Degrees north.
  public var latitude: Double
  /// Degrees east.
  public var longitude: Double

  /// Creates a position.
  public init(latitude: Double, longitude: Double) {
    self.latitude = latitude
    self.longitude = longitude
  }

  /// The way to another point along a great circle, in metres, on a sphere of the earth's mean radius (haversine).
  public func distance(to other: Position) -> Double {
    let degree = Double.pi / 180
    let north = sin((other.latitude - latitude) * degree / 2)
    let east = sin((other.longitude - longitude) * degree / 2)
    let chord = north * north + cos(latitude * degree) * cos(other.latitude * degree) * east * east
    // For degrees that no place has, the chord may not be a number; `min` is then 1, so that the distance always is one.
    return 2 * 6_371_008.8 * asin(min(1, chord.squareRoot()))
  }
}
