// Package anthropic is a client of the Anthropic Messages API, and of the many
// servers that speak it.
//
//	m := anthropic.New(anthropic.FromEnv(os.Getenv))
//	for ev, err := range m.Stream(ctx, req) { … }
//
// A request is sent as the bytes that its history already holds, with the cache marks inserted
// on the way, so that nothing is encoded twice and the provider's cache recognises the prefix.
//
// A [Client] is safe for concurrent use and keeps connections open between requests; nothing
// needs to be closed. It sends the conversation and the key to the configured address, through
// the proxy that the environment names, and treats the response as the model's words and
// trusts nothing else in it.
package anthropic
