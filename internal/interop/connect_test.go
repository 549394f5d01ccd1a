//go:build linux

package interop_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// connectScript is an executable that starts a server for its user and has the conversation
// there: everything goes through haft connect.
const connectScript = `#!/bin/sh
kept="$(mktemp)"
"$INTEROP_HAFT" serve --listen 127.0.0.1:0 --json >"$kept" 2>/dev/null &
server=$!
until grep -q '"url"' "$kept"; do sleep 0.05; done
HAFT_SERVE_TOKEN="$(sed -n 's/.*#token=\([A-Z0-9]*\)".*/\1/p' "$kept")"
export HAFT_SERVE_TOKEN
"$INTEROP_HAFT" connect "$(grep -o 'http://127.0.0.1:[0-9]*' "$kept")" -- "$@"
code=$?
kill $server
wait $server
exit $code
`

// TestOfficialSDKOnAServer runs cases against haft on a server, through haft connect.
func TestOfficialSDKOnAServer(t *testing.T) {
	dir := installSDK(t)
	script := filepath.Join(t.TempDir(), "haft")
	if err := os.WriteFile(script, []byte(strings.ReplaceAll(connectScript, "$INTEROP_HAFT", build(t))), 0o700); err != nil {
		t.Fatal(err)
	}
	runCases(t, dir, "onserver/cases.mjs", "INTEROP_EXECUTABLE="+script, "INTEROP_TIMEOUT=60")
}
