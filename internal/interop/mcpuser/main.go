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
	"strings"
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

// entry is what the scenario's user would write down about the server.
func (u *user) entry(url, scenario string, facts *told) ([]byte, error) {
	oauth := map[string]any{}
	if strings.HasPrefix(scenario, "auth/") {
		oauth["clientMetadataUrl"] = "https://conformance-test.local/client-metadata.json"
		oauth["dpop"] = strings.HasPrefix(scenario, "auth/dpop")
	}
	if facts.ClientID != "" {
		oauth["clientId"], oauth["clientSecret"] = facts.ClientID, facts.ClientSecret
	}
	switch scenario {
	case "auth/client-credentials-jwt":
		key := filepath.Join(u.home, "key.pem")
		if err := os.WriteFile(key, []byte(facts.PrivateKey), 0o600); err != nil {
			return nil, err
		}
		oauth["grant"], oauth["privateKeyFile"] = "client-credentials", key
		delete(oauth, "clientSecret")
	case "auth/client-credentials-basic":
		oauth["grant"] = "client-credentials"
	case "auth/wif-jwt-bearer":
		oauth["grant"], oauth["assertion"] = "workload-identity", facts.ValidJWT
	case "auth/enterprise-managed-authorization":
		oauth["grant"] = "enterprise"
		oauth["identityProvider"] = map[string]any{"tokenEndpoint": facts.TokenEndpoint, "clientId": facts.IDPClient, "idToken": facts.IDPToken}
	}
	return json.Marshal(map[string]any{"type": "http", "url": url, "oauth": oauth})
}

// act does what a scenario wants to see beyond a connection.
func (u *user) act(ctx context.Context, scenario string, facts *told) error {
	switch scenario {
	default:
		if strings.HasPrefix(scenario, "auth/") {
			return u.work(ctx)
		}
		out, err := u.run(ctx, "mcp", "get", server)
		if err != nil || !strings.Contains(out, "connected") {
			return fmt.Errorf("%v: %s", err, out)
		}
	case "tools_call":
		return u.call(ctx, "add_numbers", `{"a":5,"b":3}`)
	case "sse-retry":
		return u.call(ctx, "test_reconnection", `{}`)
	case "http-custom-headers":
		for _, c := range facts.ToolCalls {
			_ = u.call(ctx, c.Name, string(c.Arguments)) // some are meant to fail
		}
	case "http-invalid-tool-headers":
		return u.callAll(ctx)
	case "elicitation-sep1034-client-defaults":
		return u.talk(ctx, "go ahead", `{}`, []string{"test_client_elicitation_defaults"})
	case "sep-2322-client-request-state":
		return u.talk(ctx, "go ahead", `{"confirmed":true}`, []string{"test_mrtr_echo_state", "test_mrtr_no_state", "test_mrtr_unrelated", "test_mrtr_no_result_type"})
	case "json-schema-2020-12-preservation":
		return u.echo(ctx)
	case "http-standard-headers":
		return u.useEverything(ctx)
	}
	return nil
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
