package page

import (
	"fmt"
	"html"
)

// Redirect is a document that leads a browser to an address. In a file of the user's own it
// keeps the token of the address out of the browser's command line, which others can see.
func Redirect(address string) string {
	return fmt.Sprintf(`<!doctype html>
<meta charset="utf-8">
<meta name="referrer" content="no-referrer">
<meta http-equiv="refresh" content="0;url=%[1]s">
<title>haft</title>
<a href="%[1]s">Continue to haft</a>
`, html.EscapeString(address))
}
