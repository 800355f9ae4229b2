// Made by `make generate` from the files of this folder.
import Basics

/// All operations.
package enum OperationList {
  package static let all: [any Operation.Type] = [
    AnswerStep.self, BackfillSchedule.self, CancelRun.self, CheckText.self, CollectFacts.self, CountRuns.self,
    DecideStep.self, DeleteRun.self, DismissFailure.self, DownloadFile.self, DownloadLog.self, DownloadTable.self,
    DrainWorker.self, EditorCheck.self, EditorComplete.self, EditorHover.self, EditorPlan.self, EditorTest.self,
    EndSessions.self, EvictWorker.self, ExplainRun.self, ExplainSchedule.self, FindRun.self, FollowRun.self,
    IssueFormLink.self, IssueLink.self, IssueToken.self, LinkStep.self, ListActions.self, ListApprovals.self,
    ListConnections.self, ListFailures.self, ListFiles.self, ListRecipes.self, ListRunFiles.self, ListRuns.self,
    ListSchedules.self, ListSlots.self, ListSteps.self, ListTemplates.self, ListTokens.self, ListTools.self,
    ListUpcoming.self, ListVersions.self, ListWorkers.self, NewFile.self, PauseRun.self, PauseSchedule.self,
    PlanRun.self, ReadFile.self, ReadLogs.self, ReadOutputs.self, ReadValue.self, ReadVersion.self,
    ReloadConfiguration.self, ResetSchedule.self, ResolveStep.self, RestoreFile.self, ResumeRun.self,
    ResumeSchedule.self, RetryRun.self, RevokeToken.self, SaveFile.self, SendEvent.self, ShowPlan.self, ShowRecipe.self,
    ShowRun.self, ShowSchedule.self, ShowStatistics.self, ShowStatus.self, ShowStep.self, StartRun.self, SteerRuns.self,
    SubmitRun.self, TriggerSchedule.self, UnlinkAll.self, UnlinkStep.self, WatchRuns.self, YieldFolder.self,
  ]

  /// The operation of a name; nil if there is none.
  package static func named(_ name: String) -> (any Operation.Type)? {
    all.first { $0.name.hasSameScalars(as: name) }
  }
}
