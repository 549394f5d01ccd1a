package workspace

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// A Spec says which files a run begins with.
type Spec struct {
	// Repository is the address of a git repository, or the absolute path of one.
	Repository string `json:"repository"`
	// Ref is a branch, a tag or a commit that the repository has; "" means its default branch.
	Ref string `json:"ref,omitempty"`
}

// String is how lists show it.
func (s *Spec) String() string {
	if s.Ref == "" {
		return s.Repository
	}
	return s.Repository + "@" + s.Ref
}

// A RefusedError is why a workspace cannot be: another attempt would end the same way.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return e.Why }

func refuse(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Check refuses addresses and refs that git would take for something else.
func (s *Spec) Check() error {
	if err := checkRepository(s.Repository); err != nil {
		return err
	}
	if s.Ref != "" && !validRef(s.Ref) {
		return refuse("%q is not a valid ref: give a branch, a tag or a commit", s.Ref)
	}
	return nil
}

// scpLike is user@host:path, the short form of ssh://.
var scpLike = regexp.MustCompile(`^[A-Za-z0-9_.-]+@[A-Za-z0-9][A-Za-z0-9.-]*:[^:-][^:]*$`)

func checkRepository(address string) error {
	bad := func(why string) error {
		return refuse("%q is not a valid repository: %s. Give an address that starts with https:// or ssh://, user@host:path, or an absolute path", shown(address), why)
	}
	switch {
	case address == "":
		return bad("it is empty")
	case strings.ContainsFunc(address, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return bad("it contains spaces or control characters")
	case filepath.IsAbs(address), scpLike.MatchString(address):
		return nil
	}
	u, err := url.Parse(address)
	if err != nil {
		return bad("it is not a URL")
	}
	if _, password := u.User.Password(); password || u.Scheme != "ssh" && u.User != nil {
		return refuse("the repository's address contains a password or token, which everyone who sees the run could read. Give the address without it, and set up a git credential helper on the workers")
	}
	switch u.Scheme {
	case "https", "ssh", "file":
	default:
		return bad("it is neither an https or ssh address nor an absolute path")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return bad("it contains a query or a fragment")
	}
	if u.Scheme != "file" && (u.Host == "" || strings.HasPrefix(u.Host, "-")) || strings.HasPrefix(u.User.Username(), "-") {
		return bad("its host or user is missing or invalid")
	}
	return nil
}

// shown is an address without what may be secret in it: who is named before the host, and what
// follows the path.
func shown(address string) string {
	address, _, _ = strings.Cut(address, "?")
	address, _, _ = strings.Cut(address, "#")
	at := strings.LastIndexByte(address, '@')
	if at < 0 {
		return address
	}
	scheme, _, ok := strings.Cut(address[:at], "://")
	if !ok {
		return "…" + address[at:]
	}
	return scheme + "://…" + address[at:]
}

// validRef reports whether git accepts a name, as git-check-ref-format(1) has it.
func validRef(ref string) bool {
	if strings.HasPrefix(ref, "-") || strings.HasPrefix(ref, "/") || strings.HasSuffix(ref, "/") || strings.HasSuffix(ref, ".") ||
		ref == "@" || strings.Contains(ref, "..") || strings.Contains(ref, "//") || strings.Contains(ref, "@{") || len(ref) > 250 {
		return false
	}
	for _, part := range strings.Split(ref, "/") {
		if strings.HasPrefix(part, ".") || strings.HasSuffix(part, ".lock") {
			return false
		}
	}
	return !strings.ContainsFunc(ref, func(r rune) bool {
		return r <= ' ' || r == 0x7f || strings.ContainsRune(`~^:?*[\`, r) || r == unicode.ReplacementChar
	})
}

// CheckBranch refuses what cannot be the name of a branch to push.
func CheckBranch(name string) error {
	if !validRef(name) || strings.HasPrefix(name, "refs/") || name == "HEAD" {
		return refuse("%q is not a valid branch name", name)
	}
	return nil
}

// folderName is what the folder of a workspace is called.
func (s *Spec) folderName() string {
	name := s.Repository[strings.LastIndexAny(s.Repository, "/:")+1:]
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r == '.' || r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
			return r
		}
		return '_'
	}, strings.TrimSuffix(path.Clean("/" + name)[1:], ".git"))
	if name = strings.TrimLeft(name, ".-"); name == "" || name == objectsName {
		return "files"
	}
	return name
}
