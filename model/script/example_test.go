package script_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/haftdev/haft/model/script"
)

// Whatever speaks to a model can speak to a scenario; it is marked as one.
func ExampleServe() {
	srv, err := script.Serve(&script.Options{Scenario: &script.Scenario{Turns: []script.Turn{{Blocks: []script.Block{{Text: "It is empty."}}}}}})
	if err != nil {
		panic(err)
	}
	defer srv.Close()
	body := `{"model":"claude-opus-5-5","max_tokens":9,"messages":[{"role":"user","content":"What is in /a?"}]}`
	req, err := http.NewRequest("POST", srv.URL()+"/v1/messages", strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	req.Header.Set("anthropic-version", "2023-06-01")
	req.Header.Set("x-api-key", "any")
	req.Header.Set("content-type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		panic(err)
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("X-Haft-Scripted") != "")
	// Output:
	// 200 OK true
}
