grammar Sums;

sum
    : expr EOF
    ;

expr
    : <assoc = right> expr '^' expr
    | '-' expr
    | expr ('*' | '/') expr
    | expr ('+' | '-') expr
    | ID '(' expr (',' expr)* ')'
    | '(' expr ')'
    | NUMBER
    | ID
    ;

NUMBER
    : DIGIT+ ('.' DIGIT+)?
    ;

ID
    : [a-z]+
    ;

fragment DIGIT
    : [0-9]
    ;

COMMENT
    : '/*' .*? '*/' -> skip
    ;

WS
    : [ \t]+ -> skip
    ;
