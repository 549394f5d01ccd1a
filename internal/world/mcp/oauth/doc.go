// Package oauth logs haft in to remote MCP servers.
//
// A [Client] stands for one server. Its [Client.Transport] authorises requests: it
// adds the token that the [Store] holds, refreshes it when it is old, answers a
// server that asks for more scopes, and turns what only a user can settle into a
// [LoginError], which says what to run. [Client.Login] is that run: it finds the
// authorization server, makes itself known there, takes the user to its page and
// keeps what comes back.
//
// [Logins] do that for all servers of a host, by what their entries say.
//
//	c, err := oauth.New(oauth.Remote{Name: "tracker", URL: "https://mcp.example.com/"}, store, nil)
//	httpClient := &http.Client{Transport: c.Transport(nil)}
//	…
//	var login *oauth.LoginError
//	if errors.As(err, &login) { … } // c.Login(ctx, …)
//
// Both revisions of the protocol are spoken, and the oldest one's servers that are
// their own authorization servers. A client is known by what the user registered
// beforehand, else by the address of a client document, else by registering
// itself. Programs without a user have the grants of [Machine].
//
// Refresh tokens of many authorization servers work once. So a refresh happens
// under a file lock, after another look at the file, is never given up half-way,
// and its result is on disk before it is used: of any number of haft processes one
// refreshes and the others use what it got. Only the authorization server's word
// that the login is over ends it; a network that is down does not.
//
// Trust model: a server says which authorization server it believes in, so what it
// names is checked: https only (plain http among loopback addresses), the resource
// must be the server's own address, the issuer must be the one that was asked, and
// the answer must come from it. Tokens are sent to the server they are for and to
// the authorization server that made them. They are kept in files that only the
// person can read, and never appear in errors or logs. Whoever can read those files
// as the user can act as the user.
//
// Everything is safe for concurrent use, by many processes as well. Nothing needs
// to be closed but a [Loopback].
package oauth
