package mcp

import (
	"maps"
	"slices"
	"strings"
)

// passed are the variables that server processes inherit: what programs need to
// find themselves, their user and the network. Everything else stays with the
// harness; a server that needs more has it named in its entry.
var passed = strings.Fields(`
	HOME USER LOGNAME SHELL PATH TERM TZ LANG LANGUAGE LC_* TMPDIR TMP TEMP XDG_*
	HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY http_proxy https_proxy no_proxy all_proxy
	SSL_CERT_FILE SSL_CERT_DIR NODE_EXTRA_CA_CERTS REQUESTS_CA_BUNDLE CURL_CA_BUNDLE
	NVM_DIR NVM_BIN FNM_* VOLTA_HOME PNPM_HOME BUN_INSTALL DENO_DIR npm_config_cache npm_config_prefix
	UV_CACHE_DIR PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX GOPATH GOCACHE JAVA_HOME DOCKER_HOST DOCKER_CONTEXT
	SYSTEMROOT APPDATA LOCALAPPDATA USERPROFILE PROGRAMFILES
`)

// childEnv makes the environment of a server process.
func childEnv(environ []string, configured map[string]string) []string {
	var env []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, own := configured[name]; !own && inherits(name) {
			env = append(env, entry)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(configured)) {
		env = append(env, name+"="+configured[name])
	}
	return env
}

func inherits(name string) bool {
	return slices.ContainsFunc(passed, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}
