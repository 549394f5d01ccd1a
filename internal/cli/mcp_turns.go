package cli

// maxTogether is how many calls of MCP clients run at once.
const maxTogether = 32

// turns let calls run together or alone, in the order they came.
type turns struct {
	gate   chan struct{} // its holder is the next
	places chan struct{}
}
