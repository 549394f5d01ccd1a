// Package interop has the suite that drives haft with the official Claude Agent
// SDK for TypeScript, a scripted model behind it. The cases are the .mjs files in
// cases/; the tests install the SDK from npm (pinned by package-lock.json), run
// them, report each case as a subtest, and check every line that haft wrote
// against the schema of the wire.
//
//	HAFT_PEERS=1 go test ./internal/test/interop                                   # haft
//	HAFT_PEERS=1 HAFT_REFERENCE=/path/to/claude go test ./internal/test/interop    # the official executable as well
//
// The chaos tests of this package drive the built command without an SDK, as the
// worst of programs would.
package interop
