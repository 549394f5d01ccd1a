package trust

import "strings"

// Risky reports whether a variable can choose what programs run or load, where
// requests or credentials go, or how haft itself behaves. Names are compared
// without case: some systems do so too.
func Risky(name string) bool {
	name = strings.ToUpper(name)
	if riskyNames[name] {
		return true
	}
	for _, p := range riskyPrefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	for _, p := range riskyParts {
		if strings.Contains(name, p) {
			return true
		}
	}
	return strings.HasSuffix(name, "PATH") || strings.HasSuffix(name, "TOKEN") || !wellFormed(name)
}

// wellFormed names cannot smuggle in another assignment.
func wellFormed(name string) bool {
	for i, r := range name {
		if r != '_' && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return name != ""
}

var riskyNames = set(`
	HOME USER SHELL IFS ENV PS4 PROMPT_COMMAND SHELLOPTS BASHOPTS BASH_ENV ZDOTDIR
	TMPDIR TEMP TMP EDITOR VISUAL PAGER MANPAGER LESS LESSOPEN LESSCLOSE BROWSER COMSPEC PATHEXT SYSTEMROOT
	PYTHONSTARTUP PYTHONHOME PYTHONINSPECT PYTHONWARNINGS PYTHONUSERBASE VIRTUAL_ENV
	PERL5OPT PERL5LIB PERL5DB RUBYOPT RUBYLIB JAVA_HOME NODE_OPTIONS NODE_TLS_REJECT_UNAUTHORIZED NODE_REPL_EXTERNAL_MODULE
	GOFLAGS GOTOOLCHAIN GOPRIVATE GOROOT GOBIN GOENV GOEXPERIMENT GONOSUMDB GONOSUMCHECK GOSUMDB GOINSECURE GOAUTH GOVCS
	MAKEFLAGS CC CXX LD AR HOSTALIASES RESOLV_HOST_CONF LOCALDOMAIN KUBECONFIG
`)

var riskyPrefixes = strings.Fields(`
	ANTHROPIC_ CLAUDE_ HAFT_ OPENAI_ AWS_ GOOGLE_ GCLOUD_ CLOUDSDK_ AZURE_ VERTEX_ BEDROCK_ OTEL_
	LD_ DYLD_ BASH_FUNC_ GIT_ SSH_ GPG_ GNUPG XDG_ NPM_ YARN_ PNPM_ BUN_ DENO_ COREPACK_ PIP_ UV_ CONDA_ BUNDLE_ GEM_
	CARGO_ RUSTC RUSTUP_ CGO_ MAVEN_ GRADLE_ DOTNET_ DOCKER_ LUA_ PHP
`)

var riskyParts = strings.Fields(`
	PROXY BASE_URL BASEURL API_URL ENDPOINT API_KEY APIKEY SECRET PASSWORD CREDENTIAL ASKPASS CA_BUNDLE CERT
	JAVA_OPTIONS JAVA_TOOL_OPTIONS PRELOAD HELPER
`)

func set(names string) map[string]bool {
	m := map[string]bool{}
	for _, n := range strings.Fields(names) {
		m[n] = true
	}
	return m
}
