package shellrun

import (
	"slices"
	"strings"
)

// keeperEnv tells the supervisor process what it is. It is not in argv, where
// pkill -f would find it.
const keeperEnv = "HAFT_SHELLRUN_KEEPER"

// passed are the variables that commands inherit. A trailing * stands for any
// ending. Everything else stays with the harness: a list of what is secret can
// never be complete.
var passed = slices.Concat(
	// who and where
	strings.Fields(`
		HOME USER LOGNAME SHELL PATH HOSTNAME TZ LANG LANGUAGE LC_* TMPDIR TMP TEMP
		XDG_* COLUMNS DISPLAY WAYLAND_DISPLAY DBUS_SESSION_BUS_ADDRESS SSH_AUTH_SOCK
		WSL_* CONTAINER container
	`),
	// the way out
	strings.Fields(`
		http_proxy https_proxy no_proxy all_proxy ftp_proxy HTTP_PROXY HTTPS_PROXY
		NO_PROXY ALL_PROXY FTP_PROXY SSL_CERT_FILE SSL_CERT_DIR CURL_CA_BUNDLE
		REQUESTS_CA_BUNDLE NODE_EXTRA_CA_CERTS GIT_SSL_CAINFO
	`),
	// toolchains
	strings.Fields(`
		GOPATH GOROOT GOBIN GOCACHE GOMODCACHE GOFLAGS GOPROXY GOSUMDB GOPRIVATE
		GONOSUMDB GONOPROXY GOTOOLCHAIN GOOS GOARCH GOEXPERIMENT GOWORK GO111MODULE
		CGO_* CARGO_HOME CARGO_TARGET_DIR RUSTUP_HOME RUSTUP_TOOLCHAIN RUSTFLAGS
		VIRTUAL_ENV CONDA_PREFIX CONDA_DEFAULT_ENV CONDA_EXE PYENV_ROOT
		PYENV_VERSION PYTHONPATH PYTHONHOME PYTHONDONTWRITEBYTECODE PYTHONUNBUFFERED
		PYTHONHASHSEED PYTHONUTF8 PYTHONIOENCODING PYTHONWARNINGS PIP_CACHE_DIR
		PIP_DISABLE_PIP_VERSION_CHECK RUST_BACKTRACE SOURCE_DATE_EPOCH GODEBUG GOINSECURE
		GOVCS NO_COLOR PIPENV_ACTIVE UV_CACHE_DIR UV_PYTHON
		NVM_DIR NVM_BIN NVM_INC NODE_PATH NODE_ENV NODE_OPTIONS npm_config_cache
		npm_config_prefix npm_config_update_notifier npm_config_offline
		npm_config_prefer_offline npm_config_audit npm_config_fund npm_config_loglevel
		npm_config_progress npm_config_yes npm_config_legacy_peer_deps
		npm_config_strict_ssl npm_config_cafile NO_UPDATE_NOTIFIER PNPM_HOME BUN_INSTALL DENO_DIR VOLTA_HOME FNM_* JAVA_HOME
		JDK_HOME MAVEN_HOME M2_HOME GRADLE_HOME GRADLE_USER_HOME SDKMAN_DIR
		KOTLIN_HOME ANDROID_HOME ANDROID_SDK_ROOT GEM_HOME GEM_PATH RBENV_ROOT
		RBENV_VERSION BUNDLE_PATH BUNDLE_GEMFILE DOTNET_ROOT DOTNET_CLI_HOME
		NUGET_PACKAGES COMPOSER_HOME CC CXX CPP LD AR CFLAGS CXXFLAGS CPPFLAGS
		LDFLAGS MAKEFLAGS CMAKE_* PKG_CONFIG_PATH LD_LIBRARY_PATH LIBRARY_PATH CPATH
		ASDF_DIR ASDF_DATA_DIR MISE_DATA_DIR MISE_SHELL NIX_PATH NIX_PROFILES
		NIX_SSL_CERT_FILE IN_NIX_SHELL HOMEBREW_PREFIX HOMEBREW_CELLAR
		HOMEBREW_REPOSITORY DOCKER_HOST DOCKER_CONTEXT COMPOSE_* KUBECONFIG CI
		GIT_AUTHOR_* GIT_COMMITTER_* GIT_CONFIG_GLOBAL GIT_CONFIG_NOSYSTEM GIT_SSH
		GIT_SSH_COMMAND
	`),
)

// withheld are the credentials of model providers. No setting passes them on: a
// command that the model wrote must not speak for its user to the provider.
var withheld = append(strings.Fields(`
	ANTHROPIC_API_KEY ANTHROPIC_AUTH_TOKEN ANTHROPIC_CUSTOM_HEADERS
	CLAUDE_CODE_OAUTH_* CLAUDE_API_KEY OPENAI_API_KEY OPENAI_ADMIN_KEY
	AZURE_OPENAI_* AZURE_API_KEY GEMINI_API_KEY GOOGLE_API_KEY
	GOOGLE_GENERATIVE_AI_API_KEY AWS_BEARER_TOKEN_BEDROCK MISTRAL_API_KEY
	COHERE_API_KEY DEEPSEEK_API_KEY GROQ_API_KEY XAI_API_KEY OPENROUTER_API_KEY
	TOGETHER_API_KEY FIREWORKS_API_KEY PERPLEXITY_API_KEY CEREBRAS_API_KEY
	HF_TOKEN HUGGINGFACE_API_KEY REPLICATE_API_TOKEN DASHSCOPE_API_KEY
	MOONSHOT_API_KEY ZHIPUAI_API_KEY MINIMAX_API_KEY VOYAGE_API_KEY
	OLLAMA_API_KEY HAFT_API_KEY HAFT_AUTH_TOKEN
`), keeperEnv)

// imposed are set for every command: nothing may wait for a user or open a
// pager.
var imposed = strings.Fields(`
	HAFT=1 CLAUDECODE=1 TERM=dumb PAGER=cat GIT_PAGER=cat MANPAGER=cat
	SYSTEMD_PAGER=cat AWS_PAGER= GH_PAGER=cat BAT_PAGER=cat PSQL_PAGER=cat
	DELTA_PAGER=cat GIT_TERMINAL_PROMPT=0 GIT_EDITOR=true
	GIT_SEQUENCE_EDITOR=true EDITOR=true VISUAL=true SSH_ASKPASS_REQUIRE=never
	GCM_INTERACTIVE=never DEBIAN_FRONTEND=noninteractive GH_PROMPT_DISABLED=1
	PIP_NO_INPUT=1 HOMEBREW_NO_AUTO_UPDATE=1
`)

// Inherited returns the part of the harness's environment that a command gets: variables on
// the built-in list and configured ones, never a provider's credentials.
func Inherited(environ, configured []string) []string {
	set := make(map[string]bool, len(imposed))
	env := make([]string, 0, len(imposed)+40)
	for _, entry := range imposed {
		name, _, _ := strings.Cut(entry, "=")
		set[name] = true
		env = append(env, entry)
	}
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch {
		case name == "" || matchesAny(withheld, name):
		case matchesAny(configured, name): // by the user's word, an imposed one too
			env = slices.DeleteFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
			env = append(env, entry)
		case !set[name] && matchesAny(passed, name):
			env = append(env, entry)
		}
	}
	return env
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		prefix, open := strings.CutSuffix(pattern, "*")
		return name == pattern || open && strings.HasPrefix(name, prefix)
	})
}

// lookup finds the value of a variable in an environment; the last one counts.
func lookup(environ []string, name string) string {
	for _, entry := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// replace sets a variable in a copy of an environment.
func replace(environ []string, name, value string) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(e string) bool { return strings.HasPrefix(e, name+"=") })
	return append(env, name+"="+value)
}

// replaceAll sets variables, given as NAME=value, in a copy of an environment, and takes those out of it that are
// given as NAME.
func replaceAll(environ, entries []string) []string {
	last := make(map[string]int, len(entries)) // the last of a name counts
	for i, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		last[name] = i
	}
	env := make([]string, 0, len(environ)+len(entries))
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		if _, ok := last[name]; !ok {
			env = append(env, entry)
		}
	}
	for i, entry := range entries {
		if name, _, set := strings.Cut(entry, "="); set && last[name] == i {
			env = append(env, entry)
		}
	}
	return env
}
