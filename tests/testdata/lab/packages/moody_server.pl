# Serves /srv/repo on 127.0.0.1:8998, but answers the first request for InRelease with an error. With
# an argument it is in a good mood from the beginning.
# In Perl, as each node has that.
use strict;
use warnings;
use IO::Socket::INET;

$SIG{PIPE} = 'IGNORE';
my $server = IO::Socket::INET->new(
    LocalAddr => '127.0.0.1', LocalPort => 8998, Listen => 8, ReuseAddr => 1) or die "8998: $!";
my $had_its_moment = @ARGV;
while (my $client = $server->accept) {
    my ($path) = (<$client> // '') =~ m{^GET (/[\w./-]*) };
    while (defined(my $line = <$client>)) { last if $line =~ /^\r?\n$/ }
    my ($status, $body) = ('404 Not Found', '');
    if (defined $path && $path =~ /InRelease$/ && !$had_its_moment++) {
        $status = '503 Service Unavailable';
    } elsif (defined $path && $path !~ /\.\./ && open my $file, '<:raw', "/srv/repo$path") {
        local $/;
        ($status, $body) = ('200 OK', <$file>);
    }
    print $client "HTTP/1.1 $status\r\nContent-Length: ", length $body,
        "\r\nConnection: close\r\n\r\n$body";
    close $client;
}
