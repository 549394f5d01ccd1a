package headless

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/plainjson"
	"github.com/haftdev/haft/model"
	"github.com/haftdev/haft/sched"
	"github.com/haftdev/haft/tool"
	"github.com/haftdev/haft/wire"
)

// toolUseResult is the typed output; of a call that failed, a string.
func toolUseResult(out *sched.Outcome) json.RawMessage {
	if out.IsError() {
		text := out.Result.Text()
		if out.Status == sched.Denied {
			text = "User rejected tool use"
		} else if !strings.HasPrefix(text, "Error") && !strings.Contains(text, "ValidationError") {
			text = "Error: " + text
		}
		return mustJSON(text)
	}
	if out.Result.Output == nil {
		return mustJSON(out.Result.Text())
	}
	raw, err := plainjson.Marshal(out.Result.Output)
	if err != nil {
		return mustJSON(out.Result.Text())
	}
	if len(raw) > maxOutput {
		return short(raw, out)
	}
	return raw
}

const (
	maxOutput = 1 << 20  // bytes of a typed output on the wire
	maxString = 32 << 10 // bytes of a string in one that is longer
	head      = 2 << 10  // bytes that are left of a longer string
)

// short is a typed output with its long strings cut, or what the model reads if that is not
// enough. A program that wants all of it reads the file that the result names.
func short(raw json.RawMessage, out *sched.Outcome) json.RawMessage {
	where := "the whole result was not saved"
	if out.Kept != nil && out.Kept.Path != "" {
		where = "the whole result is in " + out.Kept.Path
	}
	if cut := cutStrings(raw, where); len(cut) <= maxOutput {
		return cut
	}
	return mustJSON(out.Result.Text())
}

// cutStrings cuts the long strings of a JSON value, which are found without reading it as one: it may be very large.
func cutStrings(raw []byte, where string) []byte {
	var out []byte
	for {
		i := bytes.IndexByte(raw, '"')
		if i < 0 {
			return append(out, raw...)
		}
		n := stringLength(raw[i:])
		token, after := raw[i:i+n], raw[i+n:]
		out = append(out, raw[:i]...)
		if isName := bytes.HasPrefix(bytes.TrimLeft(after, " \t\r\n"), []byte(":")); isName || decodedLength(token) <= maxString {
			out = append(out, token...)
		} else {
			out = plainjson.AppendString(out, fmt.Sprintf("%s… [%d bytes, cut here: %s]", beginning(token), decodedLength(token), where))
		}
		raw = after
	}
}

// stringLength is that of the string that raw begins with, quotes included.
func stringLength(raw []byte) int {
	for end := 1; ; end++ {
		end += bytes.IndexByte(raw[end:], '"')
		escapes := 0
		for raw[end-1-escapes] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
	}
}

// decodedLength is how many bytes a string has once its escapes are read.
func decodedLength(token []byte) int {
	n, rest := len(token)-len(`""`), token
	for {
		i := bytes.IndexByte(rest, '\\')
		switch {
		case i < 0:
			return n
		case rest[i+1] != 'u':
			n, rest = n-1, rest[i+2:]
		default:
			var r [2]byte
			_, _ = hex.Decode(r[:], rest[i+2:i+6]) // it is valid
			c := rune(r[0])<<8 | rune(r[1])
			if n -= len(`\u0000`) - 2; !utf16.IsSurrogate(c) { // of which two make four bytes
				n += utf8.RuneLen(c) - 2
			}
			rest = rest[i+6:]
		}
	}
}

// beginning is the text at the beginning of a long string.
func beginning(token []byte) string {
	end := 1
	for end < head {
		switch {
		case token[end] != '\\':
			end++
		case token[end+1] == 'u':
			end += 6
		default:
			end += 2
		}
	}
	text, _ := plainjson.Text(append(bytes.ToValidUTF8(token[:end], nil), '"')) // it is valid
	return text
}

// resultMeta says who decided about the call. A call that did not get that far has none.
func resultMeta(out *sched.Outcome) []wire.ToolResultMeta {
	v := out.Verdict
	if v.Behavior != tool.Allow && v.Behavior != tool.Deny {
		return nil
	}
	m := wire.ToolResultMeta{ID: out.UseID, PermissionDecision: &wire.PermissionDecision{Decision: "accept", Source: "config"}}
	if v.Behavior == tool.Deny {
		m.PermissionDecision.Decision = "reject"
		m.NonExecutionKind = "permission-rule"
	}
	switch {
	case v.Reason == byHost, v.Unasked && strings.Contains(v.Reason, wasAsked):
		m.PermissionDecision.Source = "user_temporary"
		if v.Behavior == tool.Deny {
			m.PermissionDecision.Source, m.NonExecutionKind = "user_reject", "user-rejected"
		}
	case v.Unasked:
		m.PermissionDecision.ReasonType = "other"
	case byHook(v):
		m.PermissionDecision.Source, m.PermissionDecision.ReasonType = "hook", "hook"
	case v.Rule != "":
		m.PermissionDecision.ReasonType = "rule"
	case strings.Contains(v.Reason, "mode"):
		m.PermissionDecision.ReasonType = "mode"
	default:
		m.PermissionDecision.ReasonType = "other"
	}
	if c, ok := out.Result.Output.(tool.Confined); ok {
		to, tier := c.ConfinedTo()
		m.Confinement, m.Sandbox = string(to), tier
	}
	return []wire.ToolResultMeta{m}
}

// byHook reports whether a hook decided.
func byHook(v tool.Verdict) bool { return !v.Unasked && strings.Contains(v.Reason, "hook") }

func textOf(blocks []model.Block) string {
	var texts []string
	for _, b := range blocks {
		if b.Type == model.Text {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

func content(blocks []model.Block) wire.Content {
	c := wire.Content{Blocks: []wire.Block{}}
	for _, b := range blocks {
		c.Blocks = append(c.Blocks, block(b))
	}
	return c
}
