package guard

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
