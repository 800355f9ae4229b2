// A misspelt upcoming feature is accepted in silence, so each one that the manifest turns on is checked here.

#if !hasFeature(ExistentialAny)
#error("ExistentialAny is off; see the settings loop in Package.swift")
#endif
#if !hasFeature(ImmutableWeakCaptures)
#error("ImmutableWeakCaptures is off; see the settings loop in Package.swift")
#endif
#if !hasFeature(InferIsolatedConformances)
#error("InferIsolatedConformances is off; see the settings loop in Package.swift")
#endif
#if !hasFeature(InternalImportsByDefault)
#error("InternalImportsByDefault is off; see the settings loop in Package.swift")
#endif
#if !hasFeature(MemberImportVisibility)
#error("MemberImportVisibility is off; see the settings loop in Package.swift")
#endif
#if !hasFeature(NonisolatedNonsendingByDefault)
#error("NonisolatedNonsendingByDefault is off; see the settings loop in Package.swift")
#endif
