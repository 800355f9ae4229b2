package import ActionKit
package import Agent
package import Basics
package import RunState

/// An answer that is the API's answer: errand itself reads the same fields.
package struct Shown<View: FieldSet>: UnlimitedAnswer {
  package var view: View

  package init(_ view: View) { self.view = view }

  package init(reading value: Value) throws(RecordError) {
    let plain: Value = try readRecord(value)
    do throws(ValueError) { view = try View(reading: plain) } catch {
      throw RecordError(error.list.first?.message ?? "the answer can't be read")
    }
  }

  package func exact() throws(RequestRefusedError) -> Value {
    do throws(ValueError) { return recorded(try view.encoded()) } catch {
      throw RequestRefusedError(.state, "the answer can't be written")
    }
  }
}

extension Operation where Answer == Shown<View> {
  package static func view(_ answer: Answer, for caller: AgentCaller) -> View { answer.view }
}
