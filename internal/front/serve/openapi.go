package serve

import (
	_ "embed"
)

// described is docs/openapi.json, compressed. A test makes both from the table of operations
// and the Go types that they read and write.
//
//go:embed openapi.json.gz
var described []byte
