package mcp

import (
	"net/url"
	"path/filepath"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

//lint:file-ignore SA1019 what the newer era gives up is still spoken

func roots(dirs []string) []*sdk.Root {
	var all []*sdk.Root
	for _, dir := range dirs {
		u := url.URL{Scheme: "file", Path: filepath.ToSlash(dir)}
		all = append(all, &sdk.Root{URI: u.String(), Name: filepath.Base(dir)})
	}
	return all
}
