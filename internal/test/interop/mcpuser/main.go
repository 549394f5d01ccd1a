// Command mcpuser is a user of haft in the place of the client that the official MCP
// conformance suite drives: it has nothing but the program itself, and does what haft
// tells users to do.
//
//	MCP_CONFORMANCE_SCENARIO=tools_call mcpuser /path/to/haft http://127.0.0.1:PORT/mcp
//
// It sets the server up with haft mcp add-json, logs in with haft mcp login when haft
// says that a login is needed, and calls tools with haft tools call, or with haft -p and
// a scripted model where a scenario needs a conversation. It has no MCP code.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: mcpuser HAFT URL")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2], os.Getenv("MCP_CONFORMANCE_SCENARIO")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

const server = "suite"

// told is what the suite says about a scenario.
type told struct {
	ClientID      string `json:"client_id"`
	ClientSecret  string `json:"client_secret"`
	PrivateKey    string `json:"private_key_pem"`
	ValidJWT      string `json:"valid_jwt"`
	IDPClient     string `json:"idp_client_id"`
	IDPToken      string `json:"idp_id_token"`
	TokenEndpoint string `json:"idp_token_endpoint"`
	ToolCalls     []struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	} `json:"toolCalls"`
}

func run(haft, url, scenario string) error {
	defer await(filepath.Dir(os.Args[0]))()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	var facts told
	_ = json.Unmarshal([]byte(os.Getenv("MCP_CONFORMANCE_CONTEXT")), &facts) // most scenarios have none
	home, err := os.MkdirTemp("", "haft-user")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	u := &user{haft: haft, home: home, project: filepath.Join(home, "project")}
	if err := os.Mkdir(u.project, 0o700); err != nil {
		return err
	}
	entry, err := u.entry(url, scenario, &facts)
	if err != nil {
		return err
	}
	if out, err := u.run(ctx, "mcp", "add-json", server, string(entry)); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return u.act(ctx, scenario, &facts)
}

// await waits for a place: the suite starts all of its scenarios at once, and each of
// them several processes.
func await(dir string) (leave func()) {
	for {
		for place := range places {
			lock := flock.New(filepath.Join(dir, fmt.Sprintf("place-%d", place)))
			if ok, err := lock.TryLock(); ok && err == nil {
				return func() { lock.Close() }
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// places is how many users there are at once.
const places = 4
