# JSON, and the fields of documents: whatever has another type than the page says is refused.
# Strings are plain scalars; numbers, truth values and null are told apart from them by reference, so
# that the number 3 is not taken for the text "3". Lone surrogates are let through.
use v5.28;
use strict;
use warnings;
no warnings qw(portable surrogate nonchar non_unicode recursion);

use constant W => '18446744073709551616';

sub refuse { die { reason => $_[0] } }

# ---------------------------------------------------------------- JSON

# Strings are plain scalars; numbers, truth values and null are told apart from them by reference, so
# that the number 3 is not taken for the text "3". Lone surrogates are let through.

sub parse_json {
    my ($text) = @_;
    pos($text) = 0;
    my $value = parse_value(\$text);
    $text =~ /\G[ \t\r\n]*\z/ or die "no JSON: text after the end\n";
    return $value;
}

my %ESCAPE = (b => "\b", t => "\t", n => "\n", f => "\f", r => "\r", '"' => '"', '\\' => '\\', '/' => '/');

sub parse_string {    # behind the opening quote
    my ($text) = @_;
    my $out = '';
    while (1) {
        $$text =~ /\G([^"\\]*)/gc and $out .= $1;
        return $out if $$text =~ /\G"/gc;
        if ($$text =~ /\G\\u[dD]([89abAB][0-9a-fA-F]{2})\\u[dD]([c-fC-F][0-9a-fA-F]{2})/gc) {
            $out .= chr(0x10000 + ((hex($1) - 0x800) << 10) + (hex($2) - 0xC00));
        }
        elsif ($$text =~ /\G\\u([0-9a-fA-F]{4})/gc)      { $out .= chr hex $1 }
        elsif ($$text =~ /\G\\([btnfr"\\\/])/gc)         { $out .= $ESCAPE{$1} }
        else                                             { die "no JSON: a string\n" }
    }
}

sub parse_value {
    my ($text) = @_;
    $$text =~ /\G[ \t\r\n]+/gc;
    return parse_string($text) if $$text =~ /\G"/gc;
    return undef if $$text =~ /\Gnull/gc;
    return bless \(my $b = $1 eq 'true' ? 1 : 0), 'Truth' if $$text =~ /\G(true|false)/gc;
    return bless \(my $n = $1), 'Number' if $$text =~ /\G(-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)/gc;
    my @list;
    if ($$text =~ /\G\[\s*/gc) {
        return \@list if $$text =~ /\G\]/gc;
        while (1) {
            push @list, parse_value($text);
            $$text =~ /\G\s*,/gc and next;
            return \@list if $$text =~ /\G\s*\]/gc;
            die "no JSON: an array\n";
        }
    }
    if ($$text =~ /\G\{\s*/gc) {
        my %object;
        return \%object if $$text =~ /\G\}/gc;
        while (1) {
            $$text =~ /\G\s*"/gc or die "no JSON: a field\n";
            my $name = parse_string($text);
            $$text =~ /\G\s*:/gc or die "no JSON: a field\n";
            $object{$name} = parse_value($text);
            $$text =~ /\G\s*,/gc and next;
            return \%object if $$text =~ /\G\s*\}/gc;
            die "no JSON: an object\n";
        }
    }
    die "no JSON: a value\n";
}

my %SHORT = map { $ESCAPE{$_} => "\\$_" } grep { $_ ne '/' } keys %ESCAPE;

sub write_character {
    my ($c) = @_;
    return $SHORT{$c} if exists $SHORT{$c};
    my $n = ord $c;
    return sprintf '\\u%04x', $n if $n < 0x10000;
    $n -= 0x10000;
    return sprintf '\\u%04x\\u%04x', 0xD800 + ($n >> 10), 0xDC00 + ($n & 0x3FF);
}

sub write_json {      # the canonical text of section 2.4
    my ($value) = @_;
    return 'null' unless defined $value;
    my $type = ref $value;
    if ($type eq 'Truth') { return $$value ? 'true' : 'false' }
    if ($type eq 'Number') { return $$value }
    if ($type eq 'ARRAY') { return '[' . join(',', map { write_json($_) } @$value) . ']' }
    if ($type eq 'HASH') {
        my @fields = map { write_json($_) . ':' . write_json($value->{$_}) } sort keys %$value;
        return '{' . join(',', @fields) . '}';
    }
    (my $out = $value) =~ s/(["\\]|[^\x20-\x7e])/write_character($1)/ge;
    return "\"$out\"";
}

sub number { bless \(my $n = $_[0]), 'Number' }

# ---------------------------------------------------------------- Fields of documents

sub need {
    my ($object, $name) = @_;
    refuse('document') unless ref $object eq 'HASH' and exists $object->{$name};
    return $object->{$name};
}
sub need_text   { my $v = need(@_); refuse('document') if !defined $v or ref $v; return $v }
sub need_list   { my $v = need(@_); refuse('document') unless ref $v eq 'ARRAY'; return $v }
sub need_object { my $v = need(@_); refuse('document') unless ref $v eq 'HASH'; return $v }
sub need_truth  { my $v = need(@_); refuse('document') unless ref $v eq 'Truth'; return $$v }

sub as_integer {
    my ($v) = @_;
    refuse('document') unless ref $v eq 'Number' and $$v =~ /\A(?:0|[1-9][0-9]{0,15})\z/;
    return $$v + 0;
}
sub need_count {      # an integer from 1 to the largest
    my ($object, $name, $largest) = @_;
    my $n = as_integer(need($object, $name));
    refuse('document') if $n < 1 or defined $largest and $n > $largest;
    return $n;
}

sub need_numbers {    # a list of integers below n
    my ($object, $name, $n) = @_;
    my @list = map { as_integer($_) } @{need_list($object, $name)};
    refuse('document') if grep { $_ >= $n } @list;
    return @list;
}

sub as_digits {       # text of an integer of any size
    my ($v) = @_;
    refuse('document') unless defined $v and !ref $v and $v =~ /\A(?:0|[1-9][0-9]*)\z/;
    return $v;
}

sub as_threshold {    # an integer below 2^64, or the text W
    my $v = as_digits(@_);
    return $v if $v eq W;
    refuse('document') if length $v > 20 or length $v == 20 and $v gt W;
    return $v + 0;
}
sub need_threshold  { as_threshold(need(@_)) }
sub need_thresholds { [map { as_threshold($_) } @{need_list(@_)}] }

sub need_threshold_or_list {    # a list has m of them
    my ($object, $name, $m) = @_;
    return need_threshold($object, $name) unless ref need($object, $name);
    my $list = need_thresholds($object, $name);
    refuse('document') if @$list != $m;
    return $list;
}

sub big { require Math::BigInt; Math::BigInt->new($_[0]) }

sub as_fraction {
    my ($v) = @_;
    refuse('document') unless ref $v eq 'ARRAY' and @$v == 2;
    my @f = map { big(as_digits($_)) } @$v;
    refuse('document') if $f[1]->is_zero;
    return \@f;
}

sub need_upper {      # n cumulative numbers
    my ($object, $n) = @_;
    my $upper = need_thresholds($object, 'upper');
    refuse('document') if @$upper != $n or grep { $_ eq W } @$upper;
    refuse('document') if grep { is_below($upper->[$_], $upper->[$_ - 1]) } 1 .. $#$upper;
    return $upper;
}

sub need_law {        # n cumulative probabilities (upper[i] + rest[i] / total) / W
    my ($object, $n) = @_;
    my @rest  = map { as_digits($_) } @{need_list($object, 'rest')};
    my $total = as_digits(need($object, 'total'));
    refuse('document') if @rest != $n or $total eq '0' or grep { big($_) > big($total) } @rest;
    return { upper => need_upper($object, $n), rest => \@rest, total => $total };
}

# A list of texts: numbers of its texts.
sub as_texts {
    my ($v) = @_;
    if (ref $v eq 'Number') {
        my $k = as_integer($v) || refuse('document');
        return { size => $k, text => sub { $_[0] },
            find => sub { $_[0] =~ /\A(?:0|[1-9][0-9]{0,15})\z/ && $_[0] < $k ? $_[0] + 0 : undef } };
    }
    refuse('document') unless ref $v eq 'ARRAY' and @$v;
    my %place;
    for my $i (0 .. $#$v) {
        refuse('document') if !defined $v->[$i] or ref $v->[$i] or exists $place{$v->[$i]};
        $place{$v->[$i]} = $i;
    }
    return { size => scalar @$v, text => sub { $v->[$_[0]] }, find => sub { $place{$_[0]} } };
}

1;
