import Basics
import PostgresClient
import PostgresTestKit
import Testing

@Suite(.needsPostgres) struct PostgresValueTests {
  @Test func `values come back as they were sent`() async throws {
    try await connected { connection in
      for number in [Int.min, -1, 0, 1, Int.max] {
        #expect(try await connection.run("select $1", .int64(number)).first?.int64(0) == number)
      }
      for number in [Int32.min, -1, 0, 1, Int32.max] {
        #expect(try await connection.run("select $1", .int32(number)).first?.int32(0) == number)
      }
      for text in [
        "", "it's \"quoted\" \\ {a,b} NULL", "👩‍🏫 ä\u{301} \u{10FFFF}", String(repeating: "x", count: 3_000_000),
      ] {
        #expect(try await connection.run("select $1", .text(text)).first?.text(0) == text)
      }
      for bytes in [[], [0, 1, 255], Array(repeating: 0, count: 100_000)] as [[UInt8]] {
        #expect(try await connection.run("select $1", .bytes(bytes)).first?.bytes(0) == bytes)
      }
      for flag in [true, false] { #expect(try await connection.run("select $1", .bool(flag)).first?.bool(0) == flag) }
      let uuid = "019A9F5C-3c00-7abc-8def-0123456789ab"
      let row = try #require(try await connection.run("select $1, $1::text", .uuid(uuid)).first)
      #expect(try row.uuid(0) == uuid.lowercased())
      #expect(try row.text(1) == uuid.lowercased())
      #expect(try await connection.run("select $1", .json("{\"a\": [1, null]}")).first?.text(0) == "{\"a\": [1, null]}")
    }
  }

  @Test(arguments: [
    ("1970-01-01T00:00:00Z", "1970-01-01 00:00:00+00"),
    ("1999-12-31T23:59:59.999999Z", "1999-12-31 23:59:59.999999+00"),
    ("0001-01-01T00:00:00Z", "0001-01-01 00:00:00+00"),
    ("9999-12-31T23:59:59.999999Z", "9999-12-31 23:59:59.999999+00"),
    ("2026-11-25T03:04:05.25Z", "2026-11-25 03:04:05.25+00"),
  ]) func `instants come back to the microsecond`(_ text: String, _ theirs: String) async throws {
    let instant = try #require(Timestamp(text))
    try await connected { connection in
      let row = try #require(
        try await connection.run(
          "select $1, $1::text, array[$1, $1] = $2", .timestamp(instant), .timestamps([instant, instant])
        )
        .first)
      #expect(try row.timestamp(0) == instant)
      #expect(try row.text(1) == theirs)
      #expect(try row.bool(2))
    }
  }

  @Test func `arrays come back as they were sent, empty ones too`() async throws {
    try await connected { connection in
      let uuids = ["019a9f5c-3c00-7abc-8def-0123456789ab", "00000000-0000-0000-0000-000000000000"]
      for count in [0, 1, 2] {
        let statement = PostgresStatement(
          "select $1, $2, $3, $4, $5", .int32s(Array([Int32.min, Int32.max].prefix(count))),
          .int64s(Array([Int.min, Int.max].prefix(count))), .texts(Array(["a,\"b\" {}", ""].prefix(count))),
          .byteStrings(Array([[0], []].prefix(count))), .uuids(Array(uuids.prefix(count))))
        let row = try #require(try await connection.run([statement]).first?.first)
        #expect(try row.int32s(0) == Array([Int32.min, Int32.max].prefix(count)))
        #expect(try row.int64s(1) == Array([Int.min, Int.max].prefix(count)))
        #expect(try row.texts(2) == Array(["a,\"b\" {}", ""].prefix(count)))
        #expect(try row.byteStrings(3) == Array([[0], []].prefix(count)))
        #expect(try row.uuids(4) == Array(uuids.prefix(count)))
      }
    }
  }

  @Test func `null has a type, and is asked for`() async throws {
    try await connected { connection in
      let row = try #require(
        try await connection.run(
          "select $1, $2, $3, $4, $5, $6, $7, $8", .bool(nil), .int32(nil), .int64(nil), .text(nil), .bytes(nil),
          .uuid(nil), .timestamp(nil), .json(nil)
        ).first)
      for column in 0..<8 { #expect(try row.isNull(column)) }
      #expect(throws: PostgresError(.protocolError, "column 3 of the answer is null")) { try row.text(3) }
    }
  }

  @Test func `an answer that isn't what is read of it is an error`() async throws {
    try await connected { connection in
      let row = try #require(
        try await connection.run(
          """
          select 1::int4, 'x'::text, 'infinity'::timestamptz, array[1, null]::int4[], array[[1, 2], [3, 4]]::int4[],
            1.5::numeric, now() + interval '100000 years'
          """
        ).first)
      func message(_ body: () throws -> Void) -> String? {
        do { try body() } catch { return (error as? PostgresError)?.message }
        return nil
      }
      #expect(message { _ = try row.int64(0) } == "column 0 of the answer is int4, not int8")
      #expect(message { _ = try row.uuid(1) } == "column 1 of the answer is text, not uuid")
      #expect(message { _ = try row.timestamp(2) } == "column 2 of the answer isn't a valid timestamptz")
      #expect(message { _ = try row.int32s(3) } == "column 3 of the answer isn't a valid int4[]")
      #expect(message { _ = try row.int32s(4) } == "column 4 of the answer isn't a valid int4[]")
      #expect(message { _ = try row.text(5) } == "column 5 of the answer is of type 1700, not text")
      #expect(message { _ = try row.timestamp(6) } == "column 6 of the answer isn't a valid timestamptz")
      #expect(message { _ = try row.text(7) } == "the answer has no column 7")
      #expect(message { _ = try row.isNull(-1) } == "the answer has no column -1")
    }
  }

  @Test(arguments: [
    (PostgresValue.text("a\0b"), "the value of $1 has a zero byte, which PostgreSQL doesn't store in text"),
    (.texts(["a", "\0"]), "the value of $1 has a zero byte, which PostgreSQL doesn't store in text"),
    (.uuid(""), "the value of $1 isn't a UUID"),
    (.uuid("019a9f5c-3c00-7abc-8def-0123456789a"), "the value of $1 isn't a UUID"),
    (.uuid("019a9f5c-3c00-7abc-8def-0123456789aé"), "the value of $1 isn't a UUID"),
    (.uuid("019a9f5c-3c00-7abc-8def-0123456789-b"), "the value of $1 isn't a UUID"),
    (.uuid("-19a9f5c-3c00-7abc-8def-0123456789ab"), "the value of $1 isn't a UUID"),
    (.uuids(["019a9f5c03c00-7abc-8def-0123456789ab"]), "the value of $1 isn't a UUID"),
  ]) func `a value that can't be sent isn't`(_ value: PostgresValue, _ message: String) async throws {
    try await connected { connection in
      #expect(await failure { try await connection.run("select $1", value) } == PostgresError(.invalid, message))
      let row = try await connection.run("select 1").first
      #expect(try row?.int32(0) == 1)
    }
  }
}
