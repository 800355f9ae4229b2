import ActionKit

// The fields of stations and their surroundings, as actions return them.

struct StationFields: FieldSet {
  @Field("Name in capitals, with MRT STATION or LRT STATION.") var officialName: String
  @Field("Name without MRT STATION or LRT STATION.") var name: String
  @Field("Codes, several at an interchange.") var codes: [String]
  @Field("Lines that the codes stand for: NSL for NS26; a code of no known line counts as its own.")
  var lines: [String]
  @Field("Whether an exit is described as step-free.") var isStepFree: Bool
  @Field("The exits.") var exits: [ExitFields]
  @Field("Notes about access, in free text.") var accessibilityNotes: [String]
  @Field("When the details were last looked up; absent if they never were.") var enrichedAt: Timestamp?
  @Field("How sure the look-up was: high, medium or low.") var confidence: String?

  init() {}

  init(_ station: Station) {
    officialName = station.officialName
    name = station.shortName
    codes = station.codes
    lines = station.lines
    isStepFree = station.isStepFree
    exits = station.exits.map(ExitFields.init)
    accessibilityNotes = station.accessibilityNotes
    enrichedAt = station.enrichedAt
    confidence = station.confidence
  }
}

struct ExitFields: FieldSet {
  @Field("Code without the word: A for Exit A.") var label: String
  @Field("Code as the official source writes it.") var code: String
  @Field("Degrees north.") var latitude: Double
  @Field("Degrees east.") var longitude: Double
  @Field("Whether it is described as step-free; false if nothing is known.") var isStepFree: Bool
  @Field("Words about access, such as lift, escalator or stairs_only; the list is open.") var accessibility: [String]
  @Field("The platforms it leads to.") var platforms: [PlatformFields]
  @Field("The bus stops near it.") var busStops: [BusStopFields]
  @Field("The landmarks near it.") var landmarks: [String]

  init() {}

  init(_ exit: StationExit) {
    label = exit.label
    code = exit.code
    latitude = exit.position.latitude
    longitude = exit.position.longitude
    isStepFree = exit.isStepFree
    accessibility = exit.accessibility
    platforms = exit.platforms.map(PlatformFields.init)
    busStops = exit.busStops.map(BusStopFields.init)
    landmarks = exit.landmarks
  }
}

struct PlatformFields: FieldSet {
  @Field("Letter or number of the platform.") var code: String
  @Field("Line, in its short or long form.") var line: String
  @Field("Code of the station where trains from here end, if it is known.") var towards: String?

  init() {}

  init(_ platform: Platform) {
    code = platform.code
    line = platform.line
    towards = platform.towards
  }
}

struct BusStopFields: FieldSet {
  @Field("Five digits, leading zeros included.") var code: String
  @Field("Numbers of the services that stop there.") var services: [String]

  init() {}

  init(_ stop: BusStop) {
    code = stop.code
    services = stop.services
  }
}

struct ExitMatchFields: FieldSet {
  @Field("Name of the station without MRT STATION or LRT STATION.") var station: String
  @Field("Codes of the station.") var codes: [String]
  @Field("The distance in metres, as the crow flies.") var metres: Int
  @Field("The exit.") var exit: ExitFields

  init() {}

  init(_ match: ExitMatch) {
    station = match.station.shortName
    codes = match.station.codes
    metres = Int((match.distance ?? 0).rounded())
    exit = ExitFields(match.exit)
  }
}

struct BusStopMatchFields: FieldSet {
  @Included var stop: BusStopFields
  @Included var place: ExitPlaceFields

  init() {}

  init(_ match: BusStopMatch) {
    stop = BusStopFields(match.busStop)
    place = ExitPlaceFields(match.station, match.exit)
  }
}

struct LandmarkMatchFields: FieldSet {
  @Field("The landmark as the data name it.") var landmark: String
  @Included var place: ExitPlaceFields

  init() {}

  init(_ match: LandmarkMatch) {
    landmark = match.landmark
    place = ExitPlaceFields(match.station, match.exit)
  }
}

/// The exit that something is near to.
struct ExitPlaceFields: FieldSet {
  @Field("Name of the station without MRT STATION or LRT STATION.") var station: String
  @Field("Codes of the station.") var codes: [String]
  @Field("Label of the exit.") var exit: String

  init() {}

  init(_ station: Station, _ exit: StationExit) {
    self.station = station.shortName
    codes = station.codes
    self.exit = exit.label
  }
}
