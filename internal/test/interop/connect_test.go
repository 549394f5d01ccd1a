//go:build linux

package interop_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// serverScript is an executable that starts a server for its user and has the conversation
// there: everything goes through haft connect.
const serverScript = `#!/bin/sh
kept="$(mktemp)"
"$INTEROP_HAFT" serve --listen 127.0.0.1:0 --json >"$kept" 2>/dev/null &
server=$!
until grep -q '"url"' "$kept"; do sleep 0.05; done
` + connectScript + `kill $server
wait $server
exit $code
`

// fleetScript does the same with a fleet: its server, and a worker in a process of its own.
const fleetScript = `#!/bin/sh
kept="$(mktemp)"
store="$HOME/fleet"
"$INTEROP_FLEET" serve --listen 127.0.0.1:0 --status= --http 127.0.0.1:0 --store "$store" >"$kept" 2>/dev/null &
server=$!
until grep -q '#login=' "$kept"; do sleep 0.05; done
"$INTEROP_FLEET" worker --join "$(grep -o 'nats://127.0.0.1:[0-9]*' "$kept" | head -n 1)" --key "$store/worker.creds" --dir "$store/sessions" --workspaces "$store/workspaces" 2>/dev/null &
worker=$!
` + connectScript + `kill $worker
wait $worker
kill $server
wait $server
exit $code
`

// connectScript is what both have in common. What a program may not see of a server is taken
// from it.
const connectScript = `file="$(sed -n 's/.*"tokenFile": "\([^"]*\)".*/\1/p; s/^The token for programs is in //p' "$kept" | head -n 1)"
"$INTEROP_HAFT" connect --token-file "$file" "$(grep -o 'http://127.0.0.1:[0-9]*' "$kept" | head -n 1)" -- "$@"
code=$?
`

// TestOfficialSDKOnAServer runs one program against haft on a server and against a fleet,
// through haft connect: it cannot tell one from the other.
func TestOfficialSDKOnAServer(t *testing.T) {
	dir := installSDK(t)
	for name, script := range map[string]string{"haft serve": serverScript, "a fleet": fleetScript} {
		t.Run(name, func(t *testing.T) {
			bin := t.TempDir()
			fleet := filepath.Join(bin, "haft-fleet")
			if script == fleetScript {
				build := exec.Command("go", "build", "-ldflags=-s -w", "-o", fleet, "./cmd/haft-fleet")
				build.Dir = filepath.Join("..", "..", "..", "fleet")
				if out, err := build.CombinedOutput(); err != nil {
					t.Fatalf("build haft-fleet: %v\n%s", err, out)
				}
			}
			program := filepath.Join(bin, "haft")
			if err := os.WriteFile(program, []byte(strings.NewReplacer("$INTEROP_HAFT", build(t), "$INTEROP_FLEET", fleet).Replace(script)), 0o700); err != nil {
				t.Fatal(err)
			}
			runCases(t, dir, "onserver/cases.mjs", "INTEROP_EXECUTABLE="+program, "INTEROP_TIMEOUT=60", "INTEROP_PARALLEL=2")
		})
	}
}
