package shell

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/haftdev/haft/internal/pathin"
)

// Names that credentials go by. They are compared in lower case.
var (
	secretFiles = set(`.netrc _netrc .pgpass .npmrc .pypirc .git-credentials .htpasswd .my.cnf .boto .s3cfg .dockercfg .vault-token .envrc .yarnrc.yml
		credentials credentials.json credentials.db credentials.toml credentials.yml credentials.yaml shadow gshadow sudoers master.key secrets.yml secrets.yaml secrets.json secrets.toml secrets.env
		kubeconfig .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history .rediscli_history auth.json hosts.yml .claude.json htpasswd token.json
		service-account.json service_account.json application_default_credentials.json authorized_keys wp-config.php login.keychain-db`)
	secretDirs   = set(`.ssh .aws .gnupg .kube .azure .gcloud .docker .password-store .mozilla keychains keyrings sudoers.d .terraform.d .oci`)
	secretEnds   = strings.Fields(`.env .pem .key .p12 .pfx .jks .keystore .kdbx .ppk .asc .gpg .age .tfstate .tfvars`)
	secretStarts = strings.Fields(`id_rsa id_dsa id_ecdsa id_ed25519 id_xmss .env. ssh_host_`)
	harmlessEnvs = strings.Fields(`.env.example .env.sample .env.template .env.dist .env.defaults`)

	// secretHomes hold credentials or the agent's own settings, below home.
	secretHomes = strings.Fields(`.claude .codex .gemini .haft .cursor .config/gh .config/gcloud .config/haft .config/harness .config/claude .config/opencode .config/codex .config/git/credentials
		.config/op .config/rclone .config/doctl .cargo/credentials .gem/credentials .m2/settings.xml .subversion/auth .local/share/keyrings .config/google-chrome .config/chromium library/keychains`)

	// secretTrees are of the system.
	secretTrees = strings.Fields(`/etc/ssl/private /run/secrets /var/run/secrets /var/lib/sss /etc/security /run/user /var/spool/cron /etc/sudoers.d`)

	// globSamples stand for all names that a pattern must not reach.
	globSamples = strings.Fields(`.env .env.local .netrc .npmrc .pgpass .ssh .aws .gnupg .docker .kube .git-credentials .bash_history .pypirc id_rsa id_ed25519 id_ecdsa credentials credentials.json secrets.yaml shadow .claude .config
		server.key cert.pem credential`)

	// innocents stand for what patterns are meant for: one that also matches
	// such a name aims at no credential.
	innocents = strings.Fields(`main.go readme.md package.json config.yaml config.yml config.toml config a.txt x.env.example index.ts app.js style.css notes args src docker-compose.yml dockerfile data.db setup.cfg page.php
		monitor.log lib.a main.c test.py build.sh image.png`)

	plainProc = set(`/proc/cpuinfo /proc/meminfo /proc/version /proc/loadavg /proc/uptime /proc/mounts /proc/filesystems /proc/stat /proc/partitions /proc/cmdline /proc/swaps /proc/diskstats
		/proc/devices /proc/modules /proc/vmstat /proc/interrupts /proc/net/dev /proc/net/tcp /proc/net/route /proc/self/mounts /proc/self/status /proc/self/limits /proc/self/cgroup`)
	plainDev = set(`/dev/null /dev/stdin /dev/fd/0 /dev/fd/` + unknown)
)

// set returns names for looking up.
func set(names string) map[string]bool {
	s := map[string]bool{}
	for _, name := range strings.Fields(names) {
		s[name] = true
	}
	return s
}

// sensitive returns why a file must not be read unasked, "" if it may. The
// shape has unknown parts and, if it is a pattern, wildcards. Commands that
// read whole trees must not be given one that contains the home directory.
func (a *analyzer) sensitive(shape string, loose, tree bool) string {
	if !loose && a.kept(shape) {
		return ""
	}
	clean := path.Clean(strings.ToLower(shape))
	if strings.HasPrefix(clean, "//") {
		clean = clean[1:]
	}
	full := clean
	if !strings.HasPrefix(clean, "/") && len(a.dirs) == 1 && strings.HasPrefix(a.dirs[0], "/") && !strings.HasPrefix(clean, unknown) && !strings.HasPrefix(clean, "~") {
		full = path.Join(strings.ToLower(a.dirs[0]), clean)
	}
	if a.secretPlace(full) || secretName(clean, loose) || tree && a.holdsHome(full) {
		return fmt.Sprintf("%s may hold credentials", strings.ReplaceAll(shape, unknown, "…"))
	}
	if !loose && a.linksToSecret(shape) {
		return fmt.Sprintf("%s is a link to a file that may hold credentials", shape)
	}
	return ""
}

// kept reports whether a path is, from wherever the command may be, what the session has kept for its model.
func (a *analyzer) kept(name string) bool {
	if a.opts.Kept == nil || a.opts.FS == nil || strings.Contains(name, unknown) || len(a.dirs) == 0 {
		return false
	}
	return !slices.ContainsFunc(a.dirs, func(dir string) bool {
		real, err := a.opts.FS.EvalSymlinks(join(dir, name))
		return err != nil || !a.opts.Kept(real)
	})
}

// linksToSecret follows the symbolic links in a path.
func (a *analyzer) linksToSecret(name string) bool {
	if a.opts.FS == nil {
		return false
	}
	return slices.ContainsFunc(a.dirs, func(dir string) bool {
		full := join(dir, name)
		if !strings.HasPrefix(full, "/") {
			return false
		}
		real, err := a.opts.FS.EvalSymlinks(full)
		real = strings.ToLower(real)
		return err == nil && (a.secretPlace(real) || secretName(real, false))
	})
}

// secretPlace judges a path by where it is.
func (a *analyzer) secretPlace(p string) bool {
	switch {
	case p == "/proc" || strings.HasPrefix(p, "/proc/"):
		return !plainProc[p]
	case strings.HasPrefix(p, "/dev/"):
		return !plainDev[p]
	case p == "/dev" || p == "/sys":
		return false
	case strings.HasPrefix(p, "/sys/"):
		return !strings.HasPrefix(p, "/sys/class/") && !strings.HasPrefix(p, "/sys/devices/system/")
	case slices.ContainsFunc(secretTrees, func(tree string) bool { return pathin.Contains(tree, p) }):
		return true
	}
	below, ok := a.belowHome(p)
	if ok && strings.HasPrefix(below, ".") && !(strings.HasPrefix(p, "/") && a.inside(p)) {
		return true // settings of programs, history, caches
	}
	return ok && slices.ContainsFunc(secretHomes, func(dir string) bool { return pathin.Contains(dir, below) || strings.HasPrefix(below, dir+".") })
}

// belowHome returns a path relative to what is or may be a home directory.
func (a *analyzer) belowHome(p string) (string, bool) {
	if home := strings.ToLower(a.opts.Home); home != "" {
		if rest, ok := strings.CutPrefix(p, home+"/"); ok {
			return rest, true
		}
	}
	for _, prefix := range []string{"~/", unknown + "/"} {
		if rest, ok := strings.CutPrefix(p, prefix); ok {
			return rest, true
		}
	}
	for _, top := range []string{"/home/", "/users/"} {
		if rest, ok := strings.CutPrefix(p, top); ok {
			_, rest, ok = strings.Cut(rest, "/")
			return rest, ok
		}
	}
	return strings.CutPrefix(p, "/root"+"/")
}

// holdsHome reports whether a tree contains a home directory.
func (a *analyzer) holdsHome(p string) bool {
	home := strings.ToLower(a.opts.Home)
	return p == "/" || p == "/home" || p == "/root" || p == "/users" || p == "/etc" || p == "~" || home != "" && pathin.Contains(p, home)
}

// secretName judges a path by the names in it.
func secretName(p string, loose bool) bool {
	parts := strings.Split(p, "/")
	for i, part := range parts {
		last := i == len(parts)-1
		if last && part == "config" && i > 0 && parts[i-1] == ".git" {
			return true // addresses of remotes may hold a token
		}
		if secretDirs[part] || last && secretBase(part) || part == ".env" {
			return true
		}
		if loose && strings.ContainsAny(part, "*?["+unknown) && reachesSecret(part) {
			return true
		}
	}
	return false
}

func secretBase(name string) bool {
	if slices.Contains(harmlessEnvs, name) {
		return false
	}
	return name == ".env" || secretFiles[name] ||
		slices.ContainsFunc(secretStarts, func(s string) bool { return strings.HasPrefix(name, s) && !strings.HasSuffix(name, ".pub") }) ||
		slices.ContainsFunc(secretEnds, func(s string) bool { return strings.HasSuffix(name, s) })
}

// reachesSecret reports whether a pattern matches a name of credentials. One
// that begins with a wildcard and matches other names as well, as * does, aims
// at nothing.
func reachesSecret(pattern string) bool {
	pattern = strings.ReplaceAll(pattern, unknown, "*")
	if strings.IndexAny(pattern, "*?[") == 0 && matchesAny(pattern, innocents) {
		return false
	}
	return matchesAny(pattern, globSamples)
}

// matchesAny takes a pattern that cannot be read for one that matches.
func matchesAny(pattern string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		ok, err := path.Match(pattern, name)
		return ok || err != nil
	})
}
