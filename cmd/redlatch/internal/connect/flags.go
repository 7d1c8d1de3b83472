// Package connect makes a client of the server that the flags and the environment name.
//
// A password comes from the URL, from the variable REDLATCH_PASSWORD or from a file, never from a flag of its own: the
// arguments of a process are shown to every user of the machine. No error of this package shows one.
package connect

// Flags are the flags of every subcommand that say which server is meant and how it is reached.
type Flags struct {
	URL          string `name:"url" env:"REDLATCH_URL" placeholder:"URL" group:"connection" help:"Server: redis://[user@]host:port[/db], rediss:// in its place for TLS, unix:///path[?db=1], redis+sentinel://host:port[,host:port]/master[/db], redis+cluster://host:port[,host:port]. Default: redis://127.0.0.1:6379."`
	PasswordFile string `name:"password-file" env:"REDLATCH_PASSWORD_FILE" placeholder:"FILE" group:"connection" help:"Read the password from the first line of FILE. The variable REDLATCH_PASSWORD holds it otherwise."`
	TLS          bool   `name:"tls" group:"connection" help:"Use TLS; rediss:// says it too."`
	TLSCA        string `name:"tls-ca" placeholder:"FILE" group:"connection" help:"Certificates to trust, in place of the system's."`
	TLSCert      string `name:"tls-cert" placeholder:"FILE" group:"connection" help:"Certificate to show to the server."`
	TLSKey       string `name:"tls-key" placeholder:"FILE" group:"connection" help:"Key of that certificate."`
	TLSName      string `name:"tls-name" placeholder:"NAME" group:"connection" help:"Name that the server's certificate has, if not its host."`
	TLSInsecure  bool   `name:"tls-insecure" group:"connection" help:"Do not verify the server's certificate."`
}

// The variables of the environment. PasswordVariable is no default of a flag, so that no help text shows it.
const (
	URLVariable      = "REDLATCH_URL"
	PasswordVariable = "REDLATCH_PASSWORD"
)
