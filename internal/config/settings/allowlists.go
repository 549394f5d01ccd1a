package settings

import (
	"net/url"
	"regexp"
	"strings"
)

// A Listed holds what lists in the settings allow. If an administrator's settings have a list,
// no other list can add to it; otherwise, all lists are combined. Without a list, everything
// is allowed.
type Listed struct {
	managed, others []string // nil means no list
	match           func(pattern, name string) bool
}

// Allow reports whether a name is allowed.
func (l Listed) Allow(name string) bool {
	for _, list := range [][]string{l.managed, l.others} {
		allowed := list == nil
		for _, pattern := range list {
			allowed = allowed || l.match(pattern, name)
		}
		if !allowed {
			return false
		}
	}
	return true
}

// matchURL compares host with host and the rest with the rest, so that a star in the host
// never matches beyond it.
func matchURL(pattern, address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.User != nil || u.Host == "" {
		return false
	}
	scheme, rest, ok := strings.Cut(pattern, "://")
	if !ok || !strings.EqualFold(scheme, u.Scheme) {
		return false
	}
	host, path, _ := strings.Cut(rest, "/")
	return wild(strings.ToLower(host), strings.ToLower(u.Host)) && wild("/"+path, "/"+strings.TrimPrefix(u.RequestURI(), "/"))
}

// wild matches a text against a pattern in which a star matches any part.
func wild(pattern, text string) bool {
	expr := strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, `.*`)
	return regexp.MustCompile(`(?s)\A` + expr + `\z`).MatchString(text)
}
