package permission

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// A textPattern matches a command, written with single spaces between its words. A star
// matches anything; " *" and ":*" at the end also match nothing at all, and end the word
// before them.
type textPattern struct {
	parts  []string // the text between the stars
	prefix bool     // the pattern ends in a star that needs a word's end before it
	source string   // as it is written
}

func newTextPattern(spec string) *textPattern {
	p := &textPattern{source: strings.TrimSpace(spec)}
	spec = strings.Join(strings.Fields(spec), " ")
	for _, end := range []string{":*", " *"} {
		if rest, ok := strings.CutSuffix(spec, end); ok {
			spec, p.prefix = rest, true
			break
		}
	}
	p.parts = strings.Split(spec, "*")
	return p
}

// exact reports whether the pattern matches one text only.
func (p *textPattern) exact() bool { return len(p.parts) == 1 && !p.prefix }

// quotes reports whether the pattern has characters that a parsed command lacks.
func (p *textPattern) quotes() bool { return strings.ContainsAny(p.source, `"'\\`) }

func (p *textPattern) matches(text string) bool {
	if !p.prefix {
		return glob(p.parts, text)
	}
	return glob(p.parts, text) || glob(append(p.parts[:len(p.parts)-1:len(p.parts)-1], p.parts[len(p.parts)-1]+" ", ""), text)
}

// blanket reports whether the pattern says nothing about the command's first word.
func (p *textPattern) blanket() bool { return p.parts[0] == "" }

// glob matches text against parts with anything between them.
func glob(parts []string, text string) bool {
	first, last := parts[0], parts[len(parts)-1]
	if len(parts) == 1 {
		return text == first
	}
	if !strings.HasPrefix(text, first) || len(text) < len(first)+len(last) || !strings.HasSuffix(text, last) {
		return false
	}
	text = text[len(first) : len(text)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text = text[i+len(part):]
	}
	return true
}

// A domainPattern matches the host of an address.
type domainPattern struct{ labels []string }

// matches compares label by label: *.example.com is any name below example.com, example.*
// is example with one more label, * alone is every host.
func (p *domainPattern) matches(host string) bool {
	if p.labels == nil {
		return true
	}
	labels := strings.Split(host, ".")
	want := p.labels
	if want[0] == "*" {
		if len(labels) < len(want) {
			return false
		}
		labels, want = labels[len(labels)-len(want)+1:], want[1:]
	}
	if len(labels) != len(want) {
		return false
	}
	for i := range want {
		if want[i] != "*" && want[i] != labels[i] {
			return false
		}
	}
	return true
}

func newDomainPattern(spec string) (*domainPattern, error) {
	domain, ok := strings.CutPrefix(spec, "domain:")
	domain = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(domain), "."))
	if !ok || domain == "" || strings.ContainsAny(domain, "/@\\ ") {
		return nil, errors.New("write it as WebFetch(domain:example.com)")
	}
	if domain == "*" {
		return &domainPattern{}, nil
	}
	labels := strings.Split(domain, ".")
	if ascii, err := idna.Lookup.ToASCII(strings.ReplaceAll(domain, "*", "star")); err == nil && len(strings.Split(ascii, ".")) == len(labels) {
		for i, label := range strings.Split(ascii, ".") {
			if !strings.Contains(labels[i], "*") {
				labels[i] = label
			}
		}
	} else if !isASCII(domain) {
		return nil, errors.New("the domain is not a valid host name")
	}
	return &domainPattern{labels: labels}, nil
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0
}

// hostOf returns the host that an address names, if every parser would find the same one.
func hostOf(address string) (string, bool) {
	if strings.ContainsAny(address, "\\ \t\r\n\x00") {
		return "", false
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", false
	}
	host := u.Hostname()
	if !isASCII(host) {
		// The fetcher maps a name in this way before it looks it up.
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			return "", false
		}
	}
	return strings.ToLower(strings.TrimSuffix(host, ".")), true
}

// A paramPattern matches a parameter of any other tool: name:value, or only a value for the
// tool's main parameter. A value may itself contain a colon, as the skill acme:deploy of a
// plugin does: what is not a parameter of the call is taken as part of the value.
type paramPattern struct {
	name   string // "" for any of the well-known ones
	value  *textPattern
	whole  *textPattern // name and value together
	within string       // of a spec that ends in :*, what comes before names like acme:deploy
}

func newParamPattern(spec string) *paramPattern {
	p := &paramPattern{whole: newTextPattern(spec)}
	if space, ok := strings.CutSuffix(spec, ":*"); ok && space != "" {
		p.within = space + ":"
		return p
	}
	if name, value, named := strings.Cut(spec, ":"); named && name != "" && !strings.ContainsAny(name, " *") {
		p.name, p.value = name, newTextPattern(value)
	}
	return p
}

// wellKnown are parameters that a rule may leave unnamed.
var wellKnown = []string{"subagent_type", "skill", "command", "code", "name"}

func (p *paramPattern) matches(s *subject) bool {
	if v, ok := s.params[p.name]; ok && p.value != nil {
		return p.value.matches(fmt.Sprint(v))
	}
	for _, name := range wellKnown {
		if v, ok := s.params[name]; ok && p.covers(fmt.Sprint(v)) {
			return true
		}
	}
	return false
}

func (p *paramPattern) covers(value string) bool {
	return p.whole.matches(value) || p.within != "" && strings.HasPrefix(value, p.within)
}
