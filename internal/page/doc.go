// Package page is what haft shows in a browser: the page of haft serve, and a session as one
// HTML file.
//
// The page is plain ES modules and a style sheet, served as they are ([Files]); there is no
// framework and no build. [Export] joins the same modules into one file that opens without a
// server. What is shown comes from package timeline as JSON and is made into nodes by
// view functions, so that the served page and the file cannot differ.
//
// Trust model: what models, tools and file names say is hostile. Scripts make nodes by
// createElement and text nodes only, a content security policy without inline script or style
// stands behind that, and the file's policy allows its own script and style by their hashes.
package page
