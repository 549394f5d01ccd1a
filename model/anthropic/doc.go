// Package anthropic is a client of the Anthropic Messages API, and of the many
// servers that speak it.
//
//	m := anthropic.New(anthropic.FromEnv(os.Getenv))
//	for ev, err := range m.Stream(ctx, req) { … }
//
// A request is sent as the bytes that its history already has, with the cache
// marks put in on the way, so that a turn costs what has to be sent and the
// provider finds the prefix that it knows.
//
// A [Client] is safe for concurrent use and keeps connections open between
// requests; nothing needs to be closed. It sends the conversation and the key to
// the configured address, through the proxy that the environment names, and
// believes what comes back to be the model's words, and no more than that.
package anthropic
