package grammar

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/lazyregexp"
	"github.com/haftdev/haft/internal/shell/awkscript"
	"github.com/haftdev/haft/internal/shell/jqfilter"
	"github.com/haftdev/haft/internal/shell/sedscript"
)

// A kind says what the value of a flag or an operand may be.
type kind struct {
	name   string
	path   bool                    // the value names a file that is read
	opaque bool                    // a value that is not known will do
	rev    bool                    // a file may follow a colon
	public bool                    // the value names a file of which nothing is shown that could be secret
	glob   bool                    // the value is a pattern of names of files to read
	check  func(value string) bool // nil: anything
}

// conversion is one of printf's that prints, %n is none.
const conversion = `%[-+ #0']*[0-9]{0,4}(?:\.[0-9]{0,4})?[hlLjzt]*(?:[diouxXeEfFgGaAcsbqQ%]|\([^()]*\)T)`

var kinds = map[string]kind{
	"text":   {name: "text", opaque: true},
	"path":   {name: "path", path: true, opaque: true},
	"file":   {name: "local file", path: true, check: isLocal},
	"cert":   {name: "certificate", public: true, check: isCertificate},
	"glob":   {name: "pattern", glob: true, opaque: true},
	"yq":     {name: "path in a document", path: true, check: lazyregexp.New(`^\.[A-Za-z0-9_.\[\]"-]*$`).MatchString},
	"printf": {name: "format", check: lazyregexp.New(`(?s)^(?:(?:[^%-]|` + conversion + `)(?:[^%]|` + conversion + `)*)?$`).MatchString},
	"name":   {name: "file name without line breaks", path: true, opaque: true, check: func(s string) bool { return !strings.ContainsAny(s, "\n\r") }},
	"rev":    {name: "revision", path: true, opaque: true, rev: true},
	"num":    {name: "number", check: lazyregexp.New(`^[-+]?[0-9][0-9.,:]*[a-zA-Z%]*$`).MatchString},
	"sed":    {name: "sed script", check: func(s string) bool { return sedscript.Check(s) == nil }},
	"awk":    {name: "awk program", check: func(s string) bool { return awkscript.Check(s) == nil }},
	"input":  {name: "file or assignment", path: true, opaque: true, check: func(s string) bool { return !strings.HasPrefix(s, "/inet") }},
	"jq":     {name: "jq filter", check: func(s string) bool { return jqfilter.Check(s) == nil }},
}

// isLocal reports whether a name cannot be that of a host, of an engine or of a
// file of further options.
func isLocal(s string) bool {
	return !strings.Contains(s, ":") && s != "" && s[0] != '@' && s[0] != '+'
}

// isCertificate reports whether a local file has the name of a certificate.
func isCertificate(s string) bool {
	return isLocal(s) && slices.Contains([]string{".pem", ".crt", ".cer", ".cert", ".der"}, strings.ToLower(path.Ext(s)))
}

func parseKind(s string) (kind, error) {
	if k, ok := kinds[s]; ok {
		return k, nil
	}
	if list, ok := strings.CutPrefix(s, "{"); ok && strings.HasSuffix(list, "}") {
		return regexpKind(s, strings.TrimSuffix(list, "}"), true)
	}
	body, not := strings.CutPrefix(s, "!")
	if len(body) > 1 && body[0] == '/' && body[len(body)-1] == '/' {
		return regexpKind(s, body[1:len(body)-1], !not)
	}
	return kind{}, fmt.Errorf("unknown kind %q", s)
}

func regexpKind(name, expr string, want bool) (kind, error) {
	re, err := regexp.Compile(`^(?:` + expr + `)$`)
	if err != nil {
		return kind{}, err
	}
	return kind{name: "word", check: func(s string) bool { return re.MatchString(s) == want }}, nil
}

// accepts returns why w cannot be a value of this kind.
func (k kind) accepts(w Word) error {
	switch {
	case k.check == nil && (k.opaque || w.Known()):
		return nil
	case !w.Known() && k.opaque:
		return nil // the files that it becomes are judged one by one
	case !w.Known():
		return fmt.Errorf("the %s must be given literally", k.name)
	case !k.check(w.Value):
		return fmt.Errorf("%q is not known to be a harmless %s", w.Value, k.name)
	}
	return nil
}

// file returns the file that a value of this kind names.
func (k kind) file(w Word) Word {
	if k.rev && w.Known() {
		w.Value = w.Value[strings.LastIndexByte(w.Value, ':')+1:]
	}
	return w
}
