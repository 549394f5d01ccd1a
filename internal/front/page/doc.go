// Package page is what haft shows in a browser: the page of haft serve, and a session as one
// HTML file.
//
// The page is plain ES modules and a style sheet; there is no framework. The program has the
// modules joined into one script, so that a browser asks once, and compressed: a test makes
// that file, and fails if it is not what the modules say. [Files] serves it, and [Export] puts
// the same script into a file that opens without a server. What is shown comes from package timeline as JSON and is made into nodes by
// view functions, so that the served page and the file cannot differ.
//
// Trust model: what models, tools and file names say is hostile. Scripts make nodes by
// createElement and text nodes only, a content security policy without inline script or style
// stands behind that, and the file's policy allows its own script and style by their hashes.
package page
