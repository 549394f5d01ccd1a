package guard

import (
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// Sensitivity says that a path names something to be careful with, and what that means for reading and writing it.
type Sensitivity struct {
	What        string // "" when it is nothing special
	Read, Write Decision
}

// rule is one line of the table below. Patterns are lower case. "~/" anchors at the home directory, "/" at the root of
// the file system; others match at any depth below a root. "/**" at the end covers the directory and all in it.
type rule struct {
	pattern string
	Sensitivity
}

const (
	whatKey     = "a private key"
	whatCreds   = "a store of credentials"
	whatEnv     = "a file of secrets"
	whatRepo    = "a repository's own files can run programs"
	whatAgent   = "settings of a coding agent can run programs and grant permissions"
	whatEditor  = "editor settings can run programs"
	whatCI      = "build pipelines run with the repository's secrets"
	whatHooks   = "hooks run programs"
	whatShell   = "a shell start-up file"
	whatTools   = "settings of a build or package tool can run programs"
	whatDeps    = "installed dependencies"
	whatAccount = "the system's accounts"
	whatSSH     = "settings of ssh can run programs"
)

// rules: the first that matches a spelling counts for it; the strictest over all spellings counts for the path.
var rules = []rule{
	{"~/.ssh/config", Sensitivity{whatSSH, Allow, Deny}},
	{"~/.ssh/known_hosts*", Sensitivity{whatSSH, Allow, Deny}},
	{"~/.ssh/*.pub", Sensitivity{whatSSH, Allow, Deny}},
	{"~/.ssh/**", Sensitivity{whatKey, Deny, Deny}},
	{"~/.gnupg/**", Sensitivity{whatKey, Deny, Deny}},
	{"~/.aws/config", Sensitivity{whatCreds, Ask, Deny}},
	{"~/.aws/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.azure/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/gcloud/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/gh/hosts.yml", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/git/credentials", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/op/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.docker/config.json", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.kube/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.git-credentials", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.netrc", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.npmrc", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.pypirc", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.pgpass", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.cargo/credentials*", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.gem/credentials", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.terraform.d/credentials.tfrc.json", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.vault-token", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.password-store/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.local/share/keyrings/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.mozilla/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/google-chrome/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.config/chromium/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/library/keychains/**", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.claude/.credentials.json", Sensitivity{whatCreds, Deny, Deny}},
	{"~/.codex/auth.json", Sensitivity{whatCreds, Deny, Deny}},
	{"/etc/shadow*", Sensitivity{whatAccount, Deny, Deny}},
	{"/etc/gshadow*", Sensitivity{whatAccount, Deny, Deny}},

	{".git/**", Sensitivity{whatRepo, Allow, Ask}},
	{".gitmodules", Sensitivity{whatRepo, Allow, Ask}},
	{".gitattributes", Sensitivity{whatRepo, Allow, Ask}},
	{".gitconfig", Sensitivity{whatRepo, Allow, Ask}},
	{".hg/**", Sensitivity{whatRepo, Allow, Ask}},
	{".svn/**", Sensitivity{whatRepo, Allow, Ask}},
	{".jj/**", Sensitivity{whatRepo, Allow, Ask}},

	{".env.example", Sensitivity{}},
	{".env.sample", Sensitivity{}},
	{".env.template", Sensitivity{}},
	{".env.dist", Sensitivity{}},
	{".env", Sensitivity{whatEnv, Ask, Ask}},
	{".env.*", Sensitivity{whatEnv, Ask, Ask}},
	{".envrc", Sensitivity{whatEnv, Ask, Ask}},
	{".netrc", Sensitivity{whatCreds, Ask, Ask}},
	{"_netrc", Sensitivity{whatCreds, Ask, Ask}},
	{".pgpass", Sensitivity{whatCreds, Ask, Ask}},
	{".git-credentials", Sensitivity{whatCreds, Ask, Ask}},
	{".htpasswd", Sensitivity{whatCreds, Ask, Ask}},
	{".ssh/**", Sensitivity{whatKey, Ask, Ask}},
	{".gnupg/**", Sensitivity{whatKey, Ask, Ask}},
	{".aws/**", Sensitivity{whatCreds, Ask, Ask}},
	{"id_rsa", Sensitivity{whatKey, Ask, Ask}},
	{"id_dsa", Sensitivity{whatKey, Ask, Ask}},
	{"id_ecdsa*", Sensitivity{whatKey, Ask, Ask}},
	{"id_ed25519*", Sensitivity{whatKey, Ask, Ask}},
	{"*.pem", Sensitivity{whatKey, Ask, Ask}},
	{"*.key", Sensitivity{whatKey, Ask, Ask}},
	{"*.p12", Sensitivity{whatKey, Ask, Ask}},
	{"*.pfx", Sensitivity{whatKey, Ask, Ask}},
	{"*.jks", Sensitivity{whatKey, Ask, Ask}},
	{"*.keystore", Sensitivity{whatKey, Ask, Ask}},

	{".claude/**", Sensitivity{whatAgent, Allow, Ask}},
	{".haft/**", Sensitivity{whatAgent, Allow, Ask}},
	{".mcp.json", Sensitivity{whatAgent, Allow, Ask}},
	{".codex/**", Sensitivity{whatAgent, Allow, Ask}},
	{".gemini/**", Sensitivity{whatAgent, Allow, Ask}},
	{".cursor/**", Sensitivity{whatAgent, Allow, Ask}},
	{".agents/**", Sensitivity{whatAgent, Allow, Ask}},
	{".opencode/**", Sensitivity{whatAgent, Allow, Ask}},
	{"opencode.json*", Sensitivity{whatAgent, Allow, Ask}},
	{".aider.conf.yml", Sensitivity{whatAgent, Allow, Ask}},

	{".vscode/**", Sensitivity{whatEditor, Allow, Ask}},
	{".idea/**", Sensitivity{whatEditor, Allow, Ask}},
	{".zed/**", Sensitivity{whatEditor, Allow, Ask}},
	{".fleet/**", Sensitivity{whatEditor, Allow, Ask}},
	{"*.code-workspace", Sensitivity{whatEditor, Allow, Ask}},
	{".devcontainer/**", Sensitivity{whatEditor, Allow, Ask}},
	{".devcontainer.json", Sensitivity{whatEditor, Allow, Ask}},
	{".exrc", Sensitivity{whatEditor, Allow, Ask}},
	{".nvim.lua", Sensitivity{whatEditor, Allow, Ask}},
	{".dir-locals.el", Sensitivity{whatEditor, Allow, Ask}},

	{".github/workflows/**", Sensitivity{whatCI, Allow, Ask}},
	{".github/actions/**", Sensitivity{whatCI, Allow, Ask}},
	{".gitlab-ci.yml", Sensitivity{whatCI, Allow, Ask}},
	{".circleci/**", Sensitivity{whatCI, Allow, Ask}},
	{".buildkite/**", Sensitivity{whatCI, Allow, Ask}},
	{".travis.yml", Sensitivity{whatCI, Allow, Ask}},
	{".drone.yml", Sensitivity{whatCI, Allow, Ask}},
	{"azure-pipelines.yml", Sensitivity{whatCI, Allow, Ask}},
	{"bitbucket-pipelines.yml", Sensitivity{whatCI, Allow, Ask}},
	{"jenkinsfile", Sensitivity{whatCI, Allow, Ask}},

	{".husky/**", Sensitivity{whatHooks, Allow, Ask}},
	{".githooks/**", Sensitivity{whatHooks, Allow, Ask}},
	{".pre-commit-config.yaml", Sensitivity{whatHooks, Allow, Ask}},
	{"lefthook.yml", Sensitivity{whatHooks, Allow, Ask}},
	{".lefthook.yml", Sensitivity{whatHooks, Allow, Ask}},
	{".lefthook/**", Sensitivity{whatHooks, Allow, Ask}},

	{".bashrc", Sensitivity{whatShell, Allow, Ask}},
	{".bash_profile", Sensitivity{whatShell, Allow, Ask}},
	{".bash_login", Sensitivity{whatShell, Allow, Ask}},
	{".bash_logout", Sensitivity{whatShell, Allow, Ask}},
	{".bash_aliases", Sensitivity{whatShell, Allow, Ask}},
	{".profile", Sensitivity{whatShell, Allow, Ask}},
	{".zshrc", Sensitivity{whatShell, Allow, Ask}},
	{".zshenv", Sensitivity{whatShell, Allow, Ask}},
	{".zprofile", Sensitivity{whatShell, Allow, Ask}},
	{".zlogin", Sensitivity{whatShell, Allow, Ask}},
	{".zlogout", Sensitivity{whatShell, Allow, Ask}},
	{".inputrc", Sensitivity{whatShell, Allow, Ask}},

	{".npmrc", Sensitivity{whatTools, Ask, Ask}},
	{".pypirc", Sensitivity{whatTools, Ask, Ask}},
	{".yarnrc", Sensitivity{whatTools, Allow, Ask}},
	{".yarnrc.yml", Sensitivity{whatTools, Allow, Ask}},
	{".yarn/**", Sensitivity{whatTools, Allow, Ask}},
	{".pnpmfile.cjs", Sensitivity{whatTools, Allow, Ask}},
	{"bunfig.toml", Sensitivity{whatTools, Allow, Ask}},
	{".cargo/config", Sensitivity{whatTools, Allow, Ask}},
	{".cargo/config.toml", Sensitivity{whatTools, Allow, Ask}},
	{".bazelrc", Sensitivity{whatTools, Allow, Ask}},
	{".bazelversion", Sensitivity{whatTools, Allow, Ask}},
	{".mvn/**", Sensitivity{whatTools, Allow, Ask}},
	{".gradle/**", Sensitivity{whatTools, Allow, Ask}},
	{".bundle/config", Sensitivity{whatTools, Allow, Ask}},
	{".condarc", Sensitivity{whatTools, Allow, Ask}},
	{"pip.conf", Sensitivity{whatTools, Allow, Ask}},
	{".mise.toml", Sensitivity{whatTools, Allow, Ask}},
	{"mise.toml", Sensitivity{whatTools, Allow, Ask}},

	{"node_modules/**", Sensitivity{whatDeps, Allow, Ask}},
}

const (
	whatOwn  = "the agent's own settings, trust and logs change only through the agent itself"
	whatBare = "an embedded bare repository's files can run programs"
)

// sensitive judges every spelling of a path and takes the strictest view.
func (g *Guard) sensitive(f Facts) Sensitivity {
	var worst Sensitivity
	take := func(s Sensitivity) {
		if worst.What == "" {
			worst = s
		}
		if s.Write > worst.Write || s.Read > worst.Read {
			worst.What = s.What
		}
		worst.Read, worst.Write = max(worst.Read, s.Read), max(worst.Write, s.Write)
	}
	for _, p := range f.spellings() {
		for _, dir := range g.agent {
			if withinFold(dir, p) {
				take(Sensitivity{whatOwn, Allow, Deny})
			}
		}
		take(g.lookUp(p))
	}
	if f.Root != "" && g.inBareRepository(f) {
		take(Sensitivity{whatBare, Allow, Ask})
	}
	return worst
}

// withinFold is within on a file system that does not tell cases apart.
func withinFold(dir, p string) bool {
	return len(p) >= len(dir) && strings.EqualFold(p[:len(dir)], dir) && within(dir, dir+p[len(dir):])
}

// lookUp finds the first rule for one spelling.
func (g *Guard) lookUp(p string) Sensitivity {
	all := fold(p)
	var below [][]string // what lies under each home directory that holds p
	for _, home := range g.home {
		if withinFold(home, p) {
			below = append(below, fold(p[len(home):]))
		}
	}
	inside := all
	for _, r := range g.roots {
		for _, dir := range []string{r.real, r.given} {
			if within(dir, p) {
				inside = fold(p[len(dir):])
			}
		}
	}
	for _, r := range compiled() {
		if r.matchesPath(all, below, inside) {
			return r.what
		}
	}
	return Sensitivity{}
}

// matcher is a rule taken apart.
type matcher struct {
	parts    []string
	home     bool // anchored at the home directory
	absolute bool // anchored at the root of the file system
	deep     bool // covers everything below
	what     Sensitivity
}

// compiled takes the rules apart, once.
var compiled = sync.OnceValue(func() []matcher {
	out := make([]matcher, len(rules))
	for i, r := range rules {
		m := matcher{what: r.Sensitivity}
		p, home := strings.CutPrefix(r.pattern, "~/")
		p, absolute := strings.CutPrefix(p, "/")
		p, deep := strings.CutSuffix(p, "/**")
		m.home, m.absolute, m.deep, m.parts = home, absolute, deep, strings.Split(p, "/")
		out[i] = m
	}
	return out
})

// matchesPath compares a rule with a path: all of it, what lies below a home directory, and what lies inside a root.
func (m *matcher) matchesPath(all []string, below [][]string, inside []string) bool {
	switch {
	case m.absolute:
		return m.matches(all)
	case m.home:
		return slices.ContainsFunc(below, m.matches)
	}
	for i := range inside {
		if m.matches(inside[i:]) {
			return true
		}
	}
	return false
}

// matches compares with all of the given components, or with their beginning if the rule is deep.
func (m *matcher) matches(parts []string) bool {
	if len(parts) < len(m.parts) || !m.deep && len(parts) != len(m.parts) {
		return false
	}
	for i, p := range m.parts {
		if p != parts[i] && !(strings.Contains(p, "*") && glob(p, parts[i])) {
			return false
		}
	}
	return true
}

func glob(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return ok && err == nil
}

var shortName = regexp.MustCompile(`^([a-z0-9_]{1,6})~[0-9]+$`)

// fold writes the components of a path as a careless file system or reader would take them: lower case, compatibility
// forms as plain ones, nothing invisible, no trailing dots or blanks, no stream or short-name spelling.
func fold(p string) []string {
	var out []string
	for c := range strings.SplitSeq(filepath.ToSlash(p), "/") {
		if c == "" {
			continue
		}
		c = strings.Map(func(r rune) rune {
			if unicode.Is(unicode.Cf, r) || unicode.IsControl(r) || unicode.Is(unicode.Variation_Selector, r) {
				return -1
			}
			return r
		}, norm.NFKC.String(c))
		c, _, _ = strings.Cut(c, "::$")
		c = strings.TrimRight(strings.ToLower(c), ". ")
		if m := shortName.FindStringSubmatch(c); m != nil {
			c = "." + m[1]
		}
		out = append(out, c)
	}
	return out
}

// inBareRepository reports whether a directory between the root and the path is a repository without a work tree.
func (g *Guard) inBareRepository(f Facts) bool {
	for dir := filepath.Dir(f.Real); within(f.Root, dir) && dir != f.Root; dir = filepath.Dir(dir) {
		if g.is(filepath.Join(dir, "HEAD"), 0) && g.is(filepath.Join(dir, "objects"), fs.ModeDir) && g.is(filepath.Join(dir, "refs"), fs.ModeDir) {
			return true
		}
	}
	return false
}

func (g *Guard) is(p string, t fs.FileMode) bool {
	info, err := g.fs.Lstat(p)
	return err == nil && info.Mode.Type() == t
}
