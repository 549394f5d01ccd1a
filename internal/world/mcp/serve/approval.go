package serve

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/haftdev/haft/internal/text/plural"
	"github.com/haftdev/haft/internal/text/visible"
	"github.com/haftdev/haft/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// answerID names the question within a request.
const answerID = "permission"

// An approval is what a client's user is asked for about one call. In the newer era a
// server cannot ask in the middle of a call: it gives the question as the result,
// and the client calls again with the answer. The call has had no effect by then,
// so it simply takes the whole way again; the answer is carried by the client and
// bound by a signature to the tool, the input, the question and this process. For
// clients of the older era the SDK asks and repeats the call by itself.
type approval struct {
	server   *Server
	tool     string
	input    json.RawMessage
	request  *sdk.CallToolRequest
	question *question // to be put to the user; nil if there is none
}

type question struct{ text, state string }

// canAsk reports whether a client shows forms. One that says nothing of kinds does.
func canAsk(caps *sdk.ClientCapabilities) bool {
	return caps != nil && caps.Elicitation != nil && (caps.Elicitation.Form != nil || caps.Elicitation.URL == nil)
}

// answered returns the user's answer to the question, if this request brings it.
func (p *approval) answered(text string) (tool.Verdict, bool) {
	given, ok := p.request.Params.InputResponses[answerID].(*sdk.ElicitResult)
	if !ok || !p.signed(text, p.request.Params.RequestState) {
		return tool.Verdict{}, false
	}
	if decision, _ := given.Content["decision"].(string); given.Action == "accept" && decision == "allow" {
		return tool.Verdict{Behavior: tool.Allow, Reason: "the MCP client's user allowed it"}, true
	}
	return tool.Verdict{Behavior: tool.Deny, Reason: "the MCP client's user did not allow it"}, true
}

// sign makes the state that the client has to bring back.
func (p *approval) sign(text string, until time.Time) string {
	stamp := strconv.FormatInt(until.Unix(), 36)
	return stamp + "." + p.seal(text, stamp)
}

// signed reports whether state is what sign made for this call and question, and
// is not too old.
func (p *approval) signed(text, state string) bool {
	stamp, seal, _ := strings.Cut(state, ".")
	until, err := strconv.ParseInt(stamp, 36, 64)
	return err == nil && time.Now().Unix() <= until && hmac.Equal([]byte(seal), []byte(p.seal(text, stamp)))
}

func (p *approval) seal(text, stamp string) string {
	mac := hmac.New(sha256.New, p.server.key)
	for _, part := range []string{p.tool, string(p.input), text, stamp} {
		fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// ask is [Call.Ask].
func (p *approval) ask(c tool.Case, why tool.Verdict) tool.Verdict {
	text := questionText(c, why)
	if answer, ok := p.answered(text); ok {
		return answer
	}
	if !canAsk(p.request.ClientCapabilities()) {
		return tool.Verdict{
			Behavior: tool.Deny, Unasked: true, Rule: why.Rule, Origin: why.Origin, Suggestions: why.Suggestions,
			Reason: "it needs approval, and the MCP client cannot ask the user (it does not support elicitation)",
		}
	}
	p.question = &question{text: text, state: p.sign(text, time.Now().Add(patience))}
	return tool.Verdict{Behavior: tool.Deny, Reason: "the MCP client's user is being asked"}
}

// put gives the question to the client.
func (p *approval) put() (*sdk.CallToolResult, error) {
	return &sdk.CallToolResult{
		InputRequests: sdk.InputRequestMap{answerID: &sdk.ElicitParams{
			Mode: "form", Message: p.question.text, RequestedSchema: json.RawMessage(decisionSchema),
		}},
		RequestState: p.question.state,
	}, nil
}

// decisionSchema has no default: agreeing to the form without looking allows nothing.
const decisionSchema = `{"type":"object","properties":{"decision":{"type":"string","title":"Decision","enum":["allow","deny"]}},"required":["decision"]}`

// Bounds of what a user is shown.
const (
	maxField    = 1500 // characters of one value
	maxQuestion = 6000
)

// questionText is what the user reads before deciding: all of the input, as it
// will be used, because a summary is for those who need not decide.
func questionText(c tool.Case, why tool.Verdict) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Allow %s?\n", visible.Text(c.Tool.UserName()))
	for name, value := range fields(c.Call.Input) {
		fmt.Fprintf(&b, "\n%s: %s", visible.Text(name), shown(value))
	}
	if why.Message != "" {
		fmt.Fprintf(&b, "\n\n%s", cut(visible.Text(why.Message), maxField))
	}
	return cut(b.String(), maxQuestion)
}

// fields goes through the members of an input in their order; an input that is no
// object is one without a name.
func fields(input json.RawMessage) func(yield func(string, json.RawMessage) bool) {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(input))
		if open, err := d.Token(); err != nil || open != json.Delim('{') {
			yield("input", input)
			return
		}
		for d.More() {
			name, err := d.Token()
			var value json.RawMessage
			if err != nil || d.Decode(&value) != nil || !yield(fmt.Sprint(name), value) {
				return
			}
		}
	}
}

// shown is a value for people: a text as it is, several lines of it below the name.
func shown(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil {
		return cut(visible.Text(string(value)), maxField)
	}
	text = cut(visible.Text(text), maxField)
	if strings.Contains(text, "\n") {
		return "\n  " + strings.ReplaceAll(text, "\n", "\n  ")
	}
	return text
}

// cut says how much it leaves out: what is not shown may be what matters.
func cut(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	return fmt.Sprintf("%s… (%s not shown)", string(r[:most]), plural.Of(len(r)-most, "more character"))
}
