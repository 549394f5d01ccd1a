package serve

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/haftdev/haft/tool"
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
