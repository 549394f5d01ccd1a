// Package sessiontest is the suite that every way to keep sessions passes: files, logs in
// memory, and those of other modules.
//
//	func TestSessions(t *testing.T) {
//		sessiontest.Run(t, func(t *testing.T) *sessiontest.Stage { return sessiontest.NewWithLogs(t, open(t)) })
//		sessiontest.RunLogs(t, open)
//	}
//
// [NewMemory] returns logs in memory, the plainest that have a fence. They are safe for
// concurrent use.
package sessiontest
