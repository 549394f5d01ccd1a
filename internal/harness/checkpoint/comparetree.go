package checkpoint

// packFrom is the number of contents from which they are kept in one file.
const packFrom = 32
