package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const linuxPackage = "linux-source-6.1"

// linuxSource unpacks Debian's kernel source below the cache folder, once. Debian's
// .gitignore ends with rules that hide everything; they are cut off. An empty
// repository around the tree makes .gitignore count.
func linuxSource() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	base := filepath.Join(cache, "haft-bench")
	dir := filepath.Join(base, linuxPackage)
	if _, err := os.Stat(filepath.Join(dir, ".git")); err == nil {
		return dir, nil
	}
	if err := os.MkdirAll(base, 0o755); err != nil {
		return "", err
	}
	script := `set -e
ls ` + linuxPackage + `_*.deb >/dev/null 2>&1 || apt-get download ` + linuxPackage + `
rm -rf deb ` + linuxPackage + ` && dpkg-deb -x ` + linuxPackage + `_*.deb deb
tar -xf deb/usr/src/` + linuxPackage + `.tar.xz && rm -rf deb
git -C ` + linuxPackage + ` init -q`
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = base
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("fetch %s: %w\n%s", linuxPackage, err, out)
	}
	ignore := filepath.Join(dir, ".gitignore")
	text, err := os.ReadFile(ignore)
	if err != nil {
		return "", err
	}
	if i := bytes.Index(text, []byte("\n/*\n")); i >= 0 {
		text = text[:i+1]
	}
	return dir, os.WriteFile(ignore, text, 0o644)
}
