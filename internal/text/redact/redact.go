// Package redact takes secrets out of texts that are shown or passed on: values that are
// known, such as the keys in the environment, and what looks like a secret: keys of
// providers, tokens, private keys, passwords in addresses and in assignments.
//
//	r := redact.New(redact.Environ(os.Environ()))
//	text = r.Text(text)
//
// It is a help against carelessness and no guard: a secret that looks like any other word
// and is not known stays. A Redactor is safe for concurrent use; a nil one knows no
// particular values.
package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/haftdev/haft/internal/text/lazyregexp"
)

// Hidden is in the place of a secret.
const Hidden = "***"

var name = lazyregexp.New(`(?i)^(.*[_-])?((access|refresh|id|auth|bearer|session|api|client)?[_-]?(token|secret)|authorization|cookie|set-cookie|password|passwd|passphrase|(api|private|secret|access)[_-]?key|credentials?|assertion|code[_-]?verifier|pin|cvv|otp)$`)

// Name reports whether a field, variable or flag of this name holds a secret. Numbers of
// things (progressToken) are not among them.
func Name(s string) bool { return name.MatchString(s) }

// look is what secrets look like wherever they are.
var look = lazyregexp.New(`(?i:bearer)\s+[\w.~+/=-]{8,}` +
	`|\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*` + // a JSON web token
	`|\b(sk|pk|rk)-[\w-]{16,}|\b(gh[pousr]|glpat|github_pat)[_-]\w{16,}|\bxox[abeprs]-[\w-]{10,}|\bA(KI|SI)A[0-9A-Z]{16}\b|\bAIza[\w-]{30,}` +
	// A private key has nothing but base64 and plain headers in it, so that no command hides
	// between its lines. Of one that was cut off, the whole lines are hidden.
	`|-----BEGIN [A-Z ]*PRIVATE KEY-----(([A-Za-z0-9+/=\s]|\\[rn]|[A-Z][A-Za-z-]*: [\w ,.-]*)*-----END [A-Z ]*PRIVATE KEY-----|((\s|\\[rn])*[A-Za-z0-9+/=]{40,})+)` +
	`|://[^/\s:@]+:[^/\s:@]+@`)

// basic is the word with what follows, which in a header are credentials.
var basic = lazyregexp.New(`(?i)(authorization\\?["']?\s*[:=]\s*\\?["']?)?\bbasic\s+([\w.~+/=-]+)`)

// hideBasic hides credentials after the word "Basic". Outside of a header they are a user
// and a password in base64, and not "authentication".
func hideBasic(s string) string {
	part := basic.FindStringSubmatch(s)
	raw := strings.TrimRight(part[2], "=")
	if len(raw)%4 == 1 { // it was cut
		raw = raw[:len(raw)-1]
	}
	pair, err := base64.RawStdEncoding.DecodeString(raw)
	if part[1] == "" && (err != nil || !utf8.Valid(pair) || !bytes.Contains(pair, []byte(":"))) {
		return s
	}
	return part[1] + Hidden
}

// assigned is a variable of a telling name with its value, as in files of settings and in
// what env prints. A value that is another variable is none, and one ends where a shell
// would read on, in quotes too, which may be those that end: the command after it is shown.
var assigned = lazyregexp.New(`\b([A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_KEY|PRIVATE_KEY)=["']?)[^\s"'$;|&(){}<>\x60*][^\s"'$;|&(){}<>\x60]{5,}`)

// signs are parts that every text that look or assigned matches has one of. Looking for
// them is much faster, and most texts have none.
var signs = []string{
	"sk-", "pk-", "rk-", "ghp", "gho", "ghu", "ghs", "ghr", "glpat", "github_pat", "xox", "AKIA", "ASIA", "AIza", "eyJ", "PRIVATE KEY", "://",
	"TOKEN=", "SECRET=", "PASSWORD=", "PASSWD=", "KEY=",
}

// names are parts of JSON with names of fields that may hold secrets, in the usual
// spellings.
var names = []string{
	"assword", "asswd", "assphrase", "ecret", "oken\"", "_key", "-key", "iKey", "sKey", "eKey", "uthorization", "ookie", "redential", "ssertion", "erifier", "PASSWORD", "TOKEN\"", "KEY\"", "\"pin\"", "\"otp\"", "\"cvv\"",
	`\u004`, `\u005`, `\u006`, `\u007`, // letters that need no escape and have one
}

// A Redactor takes secrets out.
type Redactor struct {
	known   *strings.Replacer
	values  []string // that are known
	encoded []string // the same as JSON writes them
}

// minKnown is how long a known value is at least: what is shorter is part of other words.
const minKnown = 4

// New returns a redactor that knows some values.
func New(known []string) *Redactor {
	r := &Redactor{}
	var pairs []string
	for _, s := range slices.SortedFunc(slices.Values(known), func(a, b string) int { return len(b) - len(a) }) {
		if len(s) < minKnown {
			continue
		}
		pairs = append(pairs, s, Hidden)
		r.values = append(r.values, s)
		raw, _ := json.Marshal(s) // a string can always be
		r.encoded = append(r.encoded, string(raw[1:len(raw)-1]))
	}
	if pairs != nil {
		r.known = strings.NewReplacer(pairs...)
	}
	return r
}

// minValue is how long the value of a variable is at least to be a secret: "true" is none.
const minValue = 8

// word matches a value that is an ordinary word, such as the password "postgres". Masking it
// everywhere would mask ordinary text and reveal the value.
var word = lazyregexp.New(`^([A-Z]?[a-z]{1,15}|[A-Z]{1,15})$`)

// Environ are the values of an environment that are secrets by the names of their
// variables, without those that are short or plain words.
func Environ(environ []string) (values []string) {
	for _, v := range environ {
		if n, value, _ := strings.Cut(v, "="); Name(n) && len(value) >= minValue && !word.MatchString(value) {
			values = append(values, value)
		}
	}
	return values
}

// Text is a text without secrets.
func (r *Redactor) Text(s string) string {
	if r != nil && r.known != nil && containsAny(s, r.values) {
		s = r.known.Replace(s)
	}
	if !containsAny(s, signs) && !header(s) {
		return s
	}
	s = basic.ReplaceAllStringFunc(look.ReplaceAllString(s, Hidden), hideBasic)
	return assigned.ReplaceAllString(s, "${1}"+Hidden)
}

func containsAny(s string, parts []string) bool {
	return slices.ContainsFunc(parts, func(part string) bool { return strings.Contains(s, part) })
}

// header reports whether a text may have the value of an Authorization header, in any case.
func header(s string) bool {
	return strings.Contains(s, "earer") || strings.Contains(s, "asic") || strings.Contains(s, "EARER") || strings.Contains(s, "ASIC")
}

// JSON is a JSON value without secrets in its strings, names included. The value of a
// field that is a secret by its name is hidden, if it is a string. What is no JSON comes
// back with no promise.
func (r *Redactor) JSON(raw []byte) []byte {
	text := string(raw)
	if !containsAny(text, signs) && !header(text) && !containsAny(text, names) && (r == nil || !containsAny(text, r.encoded) && !containsAny(text, r.values)) {
		return raw
	}
	var out bytes.Buffer
	secret := false // the next string is one, by its name
	for at := 0; at < len(raw); {
		if raw[at] != '"' {
			if c := raw[at]; c == '{' || c == '[' || c == ',' {
				secret = false
			}
			out.WriteByte(raw[at])
			at++
			continue
		}
		end := literalEnd(raw, at)
		literal, key := raw[at:end], isKey(raw[end:])
		var s string
		if json.Unmarshal(literal, &s) != nil {
			out.Write(literal)
		} else if hidden := r.hide(s, secret && !key); hidden != s {
			quoted, _ := json.Marshal(hidden) // a string can always be
			out.Write(quoted)
		} else {
			out.Write(literal)
		}
		secret = key && Name(s)
		at = end
	}
	return out.Bytes()
}

func (r *Redactor) hide(s string, secret bool) string {
	if secret && s != "" {
		return Hidden
	}
	return r.Text(s)
}

// literalEnd is where the string that begins at a position ends.
func literalEnd(raw []byte, at int) int {
	for i := at + 1; i < len(raw); i++ {
		switch raw[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(raw)
}

// isKey reports whether the string before is the name of a field.
func isKey(rest []byte) bool {
	rest = bytes.TrimLeft(rest, " \t\r\n")
	return len(rest) > 0 && rest[0] == ':'
}
