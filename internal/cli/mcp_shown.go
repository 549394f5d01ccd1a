package cli

// withheld replaces a secret.
const withheld = "***"
